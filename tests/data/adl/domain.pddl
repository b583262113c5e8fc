; A museum at night, written to use every feature of PDDL that the parser supports.
(define (domain Museum)
  (:requirements :adl :typing :action-costs :numeric-fluents :derived-predicates)
  (:types
    room item agent - object
    guard thief - agent
    painting statue - item
    relic - (either painting statue)
    lamp - fixture)            ; fixture is declared only here
  (:constants Vault Lobby - room mona - painting)
  (:predicates
    (= ?a ?b)
    (at ?who - (either agent item) ?where - room)
    (door ?from ?to - room)
    (lit ?where - room)
    (hangs ?l - lamp ?where - room)
    (alarm)
    (carries ?t - thief ?i - item)
    (awake ?g - guard))
  (:functions
    (effort ?from ?to - room) (weight ?i - item) - number
    (total-cost) - number)

  (:action sneak
    :parameters (?t - thief ?from ?to - room)
    :precondition (and (at ?t ?from)
                       (or (door ?from ?to) (door ?to ?from))
                       (not (= ?from ?to))
                       (forall (?g - guard)
                         (imply (awake ?g) (not (at ?g ?to)))))
    :effect (and (at ?t ?to) (not (at ?t ?from))
                 (forall (?i - item)
                   (when (carries ?t ?i)
                     (and (at ?i ?to) (not (at ?i ?from)))))
                 (increase (total-cost) (+ (effort ?from ?to) 0.5))))

  (:action grab
    :parameters (?t - thief ?i - item ?r - room)
    :precondition (and (at ?t ?r) (at ?i ?r)
                       (not (exists (?other - item) (carries ?t ?other))))
    :effect (and (carries ?t ?i)
                 (when (exists (?l - lamp) (and (hangs ?l ?r) (lit ?r))) (alarm))
                 (increase (total-cost) (weight ?i))))

  (:action switch
    :parameters (?r - room)
    :precondition ()
    :effect (and (when (lit ?r) (not (lit ?r)))
                 (when (not (lit ?r)) (lit ?r))
                 (increase (total-cost) 1)))

  (:action lull
    :parameters ()
    :effect (forall (?g - guard) (not (awake ?g)))))
