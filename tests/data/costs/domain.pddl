; Typed logistics with costs that are constants, functions and sums.
(define (domain parcels)
  (:requirements :typing :action-costs)
  (:types town thing - object truck parcel - thing)
  (:predicates (road ?from ?to - town) (at ?x - thing ?t - town) (in ?p - parcel ?t - truck))
  (:functions (length ?from ?to - town) - number (toll) - number (total-cost) - number)
  (:action drive
    :parameters (?v - truck ?from ?to - town)
    :precondition (and (at ?v ?from) (road ?from ?to))
    :effect (and (at ?v ?to) (not (at ?v ?from))
                 (increase (total-cost) (+ (length ?from ?to) (toll) 1))))
  (:action load
    :parameters (?p - parcel ?v - truck ?t - town)
    :precondition (and (at ?p ?t) (at ?v ?t))
    :effect (and (in ?p ?v) (not (at ?p ?t)) (increase (total-cost) 2)))
  (:action unload
    :parameters (?p - parcel ?v - truck ?t - town)
    :precondition (and (in ?p ?v) (at ?v ?t))
    :effect (and (at ?p ?t) (not (in ?p ?v)))))
