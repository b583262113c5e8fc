(define (problem Heist)
  (:domain museum)
  (:objects
    lupin - thief
    bob - guard
    hall - room
    bust - statue
    amulet - relic
    bulb - lamp
    mona - painting)           ; a constant, declared again with the same type
  (:init
    (at lupin lobby) (at BOB hall) (at mona vault) (at bust hall)
    (door lobby hall) (door hall vault)
    (awake bob) (hangs bulb vault) (lit vault)
    (not (alarm))
    (= (effort lobby hall) 2) (= (effort hall lobby) 2)
    (= (effort hall vault) 3.5) (= (effort vault hall) 3.5)
    (= (weight mona) 4) (= (weight bust) 10) (= (weight amulet) 1)
    (= (total-cost) 0))
  (:goal (and (exists (?t - thief) (and (at ?t lobby) (carries ?t mona)))
              (not (alarm))))
  (:metric minimize (total-cost)))
