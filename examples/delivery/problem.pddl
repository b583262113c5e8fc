; Two vans, ten parcels, eight places.
(define (problem delivery-10)
  (:domain delivery)
  (:objects
    harbour market mill station school farm bridge chapel - place
    red blue - van
    parcel1 parcel2 parcel3 parcel4 parcel5 parcel6 parcel7 parcel8 parcel9 parcel10 - parcel
    none one two - load)
  (:init
    (= (total-cost) 0)
    (one-more none one) (one-more one two)
    (at-van red harbour) (room-for red two)
    (at-van blue market) (room-for blue two)
    (road market harbour) (= (distance market harbour) 4) (road harbour market) (= (distance harbour market) 4)
    (road mill market) (= (distance mill market) 2) (road market mill) (= (distance market mill) 2)
    (road station harbour) (= (distance station harbour) 3) (road harbour station) (= (distance harbour station) 3)
    (road school mill) (= (distance school mill) 2) (road mill school) (= (distance mill school) 2)
    (road farm school) (= (distance farm school) 5) (road school farm) (= (distance school farm) 5)
    (road bridge harbour) (= (distance bridge harbour) 3) (road harbour bridge) (= (distance harbour bridge) 3)
    (road chapel station) (= (distance chapel station) 8) (road station chapel) (= (distance station chapel) 8)
    (road market chapel) (= (distance market chapel) 3) (road chapel market) (= (distance chapel market) 3)
    (road harbour school) (= (distance harbour school) 8) (road school harbour) (= (distance school harbour) 8)
    (at parcel1 harbour)
    (at parcel2 harbour)
    (at parcel3 mill)
    (at parcel4 bridge)
    (at parcel5 market)
    (at parcel6 school)
    (at parcel7 mill)
    (at parcel8 station)
    (at parcel9 market)
    (at parcel10 market))
  (:goal (and (at parcel1 market) (at parcel2 school) (at parcel3 chapel) (at parcel4 market) (at parcel5 school) (at parcel6 chapel) (at parcel7 harbour) (at parcel8 mill) (at parcel9 school) (at parcel10 school)))
  (:metric minimize (total-cost)))
