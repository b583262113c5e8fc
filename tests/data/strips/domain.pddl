; Untyped STRIPS: towers of blocks and one hand.
(define (domain towers)
  (:requirements :strips)
  (:predicates (on ?x ?y) (table ?x) (clear ?x) (hand-free) (held ?x))
  (:action take
    :parameters (?x)
    :precondition (and (clear ?x) (table ?x) (hand-free))
    :effect (and (held ?x) (not (clear ?x)) (not (table ?x)) (not (hand-free))))
  (:action put
    :parameters (?x)
    :precondition (held ?x)
    :effect (and (table ?x) (clear ?x) (hand-free) (not (held ?x))))
  (:action stack
    :parameters (?x ?y)
    :precondition (and (held ?x) (clear ?y))
    :effect (and (on ?x ?y) (clear ?x) (hand-free) (not (held ?x)) (not (clear ?y))))
  (:action unstack
    :parameters (?x ?y)
    :precondition (and (on ?x ?y) (clear ?x) (hand-free))
    :effect (and (held ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (hand-free)))))
