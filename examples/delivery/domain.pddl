; Vans of limited capacity carry parcels along roads.
(define (domain delivery)
  (:requirements :typing :action-costs)
  (:types place van parcel load)
  (:predicates
    (road ?from ?to - place)
    (at-van ?v - van ?p - place)
    (at ?x - parcel ?p - place)
    (in ?x - parcel ?v - van)
    (room-for ?v - van ?n - load)
    (one-more ?less ?more - load))
  (:functions
    (distance ?from ?to - place) - number
    (total-cost) - number)

  (:action drive
    :parameters (?v - van ?from ?to - place)
    :precondition (and (at-van ?v ?from) (road ?from ?to))
    :effect (and (at-van ?v ?to) (not (at-van ?v ?from))
                 (increase (total-cost) (distance ?from ?to))))

  (:action pick-up
    :parameters (?x - parcel ?v - van ?p - place ?less ?more - load)
    :precondition (and (at ?x ?p) (at-van ?v ?p) (room-for ?v ?more) (one-more ?less ?more))
    :effect (and (in ?x ?v) (not (at ?x ?p)) (room-for ?v ?less) (not (room-for ?v ?more))
                 (increase (total-cost) 1)))

  (:action drop
    :parameters (?x - parcel ?v - van ?p - place ?less ?more - load)
    :precondition (and (in ?x ?v) (at-van ?v ?p) (room-for ?v ?less) (one-more ?less ?more))
    :effect (and (at ?x ?p) (not (in ?x ?v)) (room-for ?v ?more) (not (room-for ?v ?less))
                 (increase (total-cost) 1))))
