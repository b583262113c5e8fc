(define (domain logistics-strips)
  (:requirements :strips)
  (:predicates (obj ?obj) (truck ?truck) (location ?loc) (airplane ?airplane) (city ?city)
               (airport ?airport) (at ?obj ?loc) (in ?obj ?vehicle) (in-city ?loc ?city))

  (:action load-truck
    :parameters (?obj ?truck ?loc)
    :precondition (and (obj ?obj) (truck ?truck) (location ?loc) (at ?truck ?loc) (at ?obj ?loc))
    :effect (and (in ?obj ?truck) (not (at ?obj ?loc))))

  (:action load-airplane
    :parameters (?obj ?airplane ?loc)
    :precondition (and (obj ?obj) (airplane ?airplane) (location ?loc)
                       (at ?airplane ?loc) (at ?obj ?loc))
    :effect (and (in ?obj ?airplane) (not (at ?obj ?loc))))

  (:action unload-truck
    :parameters (?obj ?truck ?loc)
    :precondition (and (obj ?obj) (truck ?truck) (location ?loc) (at ?truck ?loc) (in ?obj ?truck))
    :effect (and (at ?obj ?loc) (not (in ?obj ?truck))))

  (:action unload-airplane
    :parameters (?obj ?airplane ?loc)
    :precondition (and (obj ?obj) (airplane ?airplane) (location ?loc)
                       (at ?airplane ?loc) (in ?obj ?airplane))
    :effect (and (at ?obj ?loc) (not (in ?obj ?airplane))))

  (:action drive-truck
    :parameters (?truck ?from ?to ?city)
    :precondition (and (truck ?truck) (location ?from) (location ?to) (city ?city)
                       (at ?truck ?from) (in-city ?from ?city) (in-city ?to ?city))
    :effect (and (at ?truck ?to) (not (at ?truck ?from))))

  (:action fly-airplane
    :parameters (?airplane ?from ?to)
    :precondition (and (airplane ?airplane) (airport ?from) (airport ?to) (at ?airplane ?from))
    :effect (and (at ?airplane ?to) (not (at ?airplane ?from)))))
