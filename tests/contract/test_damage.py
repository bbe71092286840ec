"""Rules 1 and 3 of docs/wire.md: what one damaged lane, parent or counter costs the other jobs, which is nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from echomq.errors import ServerError
from echomq.records import (
    Broken,
    ClaimedMany,
    Completed,
    Completion,
    PromotedMany,
    Reaped,
    Removed,
    ReprocessedMany,
    Stale,
    Token,
)
from echomq.resp.reply import ErrorReply
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.delay import delay
from echomq.transitions.promote import promote
from echomq.transitions.promote_now import promote_now
from echomq.transitions.purge import purge
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.repair import repair
from echomq.transitions.reprocess import reprocess
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.retry import retry
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, PARENT, RED
from tests.harness.state import HOUR, Seed

FOREIGN = b"another program's"
HUGE = b"9" * 20
LEAST = b"-9223372036854775808"
red = RED.encode()


@dataclass(frozen=True, slots=True)
class Damage:
    """`harm` does it to a seed; `text` is what the transitions say of it."""

    name: str
    harm: Callable[[Seed], Seed]
    text: Callable[[Seed], bytes]

    def __str__(self) -> str:
        return self.name


def foreign(name: str, key_of: Callable[[Seed], bytes]) -> Damage:
    """The key holds a value of a type that it never has."""

    def harm(seed: Seed) -> Seed:
        key = key_of(seed)
        is_text = key.endswith(b":dependencies")
        seed.drop(key)
        return seed.fields(key, x=b"1") if is_text else seed.string(key, FOREIGN)

    return Damage(name, harm, lambda seed: b"WRONGTYPE the key %b holds a value of another type" % key_of(seed))


def garbled(name: str, value: bytes) -> Damage:
    def harm(seed: Seed) -> Seed:
        return seed.fields(seed.keys.group_active, **{RED: value})

    def text(seed: Seed) -> bytes:
        return b"ERR the field %b of %b is not a whole number" % (red, seed.keys.group_active)

    return Damage(name, harm, text)


def below(suffix: bytes) -> Callable[[Seed], bytes]:
    return lambda seed: seed.keys.job(PARENT) + suffix


def uncountable(name: str, value: bytes) -> Damage:
    key_of = below(b":dependencies")
    return Damage(
        name,
        lambda seed: seed.string(key_of(seed), value),
        lambda seed: b"ERR %b is not a whole number" % key_of(seed),
    )


LANES = (
    foreign("lane", lambda seed: seed.keys.lane(RED)),
    foreign("ring", lambda seed: seed.keys.ring),
    foreign("gactive", lambda seed: seed.keys.group_active),
    foreign("glimit", lambda seed: seed.keys.group_limit),
    foreign("paused", lambda seed: seed.keys.paused),
    foreign("wake", lambda seed: seed.keys.wake),
    garbled("in flight: text", b"many"),
    garbled("in flight: huge", HUGE),
    garbled("in flight: least", LEAST),
)
PARENTS = (
    foreign("processed", below(b":processed")),
    foreign("failed", below(b":failed")),
    foreign("unsuccessful", below(b":unsuccessful")),
    foreign("dependencies", below(b":dependencies")),
    foreign("outbox", lambda seed: seed.keys.base + b"flow:outbox"),
    uncountable("dependencies: text", b"many"),
    uncountable("dependencies: huge", HUGE),
    uncountable("dependencies: least", LEAST),
)
of_a_lane = pytest.mark.parametrize("damage", LANES, ids=str)
of_a_parent = pytest.mark.parametrize("damage", PARENTS, ids=str)
of_a_number = pytest.mark.parametrize("value", [b"abc", b"", b"1.5", b"01", b" 1", HUGE, LEAST, b"9" * 16])


def with_parent(case: Case) -> Seed:
    row = case.keys.job(PARENT)
    return case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"2")


def counts_down(after: Seed, damage: Damage) -> Seed:
    """A lease of the group has ended: its count falls where it can be read."""
    if after.keys.group_active in after.hashes and not damage.name.startswith(("gactive", "in flight")):
        after.in_flight(RED, 1)
    return after


def woken(after: Seed, damage: Damage) -> Seed:
    """A job was made ready in the flat set: somebody is woken for it, where tokens can be left."""
    return after if damage.name == "wake" else after.wakes(1)


# --- rule 3: batches judge each job on its own ------------------------------------------------------------------------


@of_a_lane
def test_rule_3_complete_many_answers_broken_for_the_jobs_of_a_damaged_lane_only(case: Case, damage: Damage) -> None:
    seed = case.seed().active(J1, 1, ends=1, group=red).active(J2, 1, ends=1).in_flight(RED, 2)
    seed = damage.harm(seed.pending(J3, 1))
    case.given(seed)
    items = [Completion(job, Token(1)) for job in (J1, J2, J3)]
    after = seed.copy().forget(J2).forget(J3).completed(2)
    case.step(complete_many(case.keys, items), (Broken(J1), Completed(J2), Completed(J3)), after)


@of_a_parent
def test_rule_3_complete_many_answers_broken_for_the_children_of_a_damaged_parent_only(
    case: Case, damage: Damage
) -> None:
    seed = damage.harm(with_parent(case).active(J1, 1, ends=1, parent=PARENT).active(J2, 1, ends=1))
    case.given(seed)
    items = [Completion(J1, Token(1)), Completion(J2, Token(1))]
    case.step(complete_many(case.keys, items), (Broken(J1), Completed(J2)), seed.copy().forget(J2).completed(1))


def test_rule_3_complete_many_answers_broken_when_the_outbox_of_a_parent_elsewhere_is_damaged(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1, parent=PARENT, parent_queue=b"other").active(J2, 1, ends=1)
    seed.string(case.keys.base + b"flow:outbox", FOREIGN)
    case.given(seed)
    items = [Completion(J1, Token(1)), Completion(J2, Token(1))]
    case.step(complete_many(case.keys, items), (Broken(J1), Completed(J2)), seed.copy().forget(J2).completed(1))


def test_rule_3_a_wrong_token_is_stale_whatever_is_damaged(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=1, group=red).string(case.keys.lane(RED), FOREIGN)
    case.given(seed)
    case.keeps(complete_many(case.keys, [Completion(J1, Token(1))]), (Stale(J1),))


@of_a_lane
def test_rule_3_promote_moves_a_job_of_a_damaged_lane_to_dead_and_promotes_the_others(
    case: Case, damage: Damage
) -> None:
    seed = damage.harm(case.seed().scheduled(J1, due=-2, group=red).scheduled(J2, due=-1).in_flight(RED, 1))
    case.given(seed)
    after = seed.copy().dead(J1, last_error=damage.text(seed), died_at=0).pending(J2)
    case.step(promote(case.keys), PromotedMany(2, more=False), woken(after, damage))


@of_a_lane
def test_rule_3_reap_moves_a_job_of_a_damaged_lane_to_dead_and_recovers_the_others(case: Case, damage: Damage) -> None:
    seed = case.seed().active(J1, 1, ends=-2, group=red).active(J2, 1, ends=-1).in_flight(RED, 2)
    seed = damage.harm(seed)
    case.given(seed)
    after = seed.copy().dead(J1, last_error=damage.text(seed), died_at=0).pending(J2)
    case.step(reap(case.keys), Reaped((J2,), (J1,), (), more=False), woken(counts_down(after, damage), damage))


@of_a_parent
@pytest.mark.parametrize("policy", [b"fp", b"id"])
def test_rule_3_reap_moves_a_spent_child_of_a_damaged_parent_to_dead_and_recovers_the_others(
    case: Case, damage: Damage, policy: bytes
) -> None:
    seed = (
        with_parent(case).active(J1, 3, ends=-2, parent=PARENT, parent_policy=policy, group=red).active(J2, 1, ends=-1)
    )
    seed = damage.harm(seed.in_flight(RED, 2))
    case.given(seed)
    after = seed.copy().dead(J1, last_error=damage.text(seed), died_at=0).pending(J2).in_flight(RED, 1).wakes(1)
    case.step(reap(case.keys, max_attempts=3), Reaped((J2,), (J1,), (), more=False), after)


@of_a_number
@pytest.mark.parametrize("field", ["attempts", "unspent", "max_attempts"])
def test_rule_3_reap_moves_a_job_whose_numbers_are_none_to_dead(case: Case, field: str, value: bytes) -> None:
    seed = case.seed().active(J1, 1, ends=-2).row(J1, **{field: value}).active(J2, 1, ends=-1)
    case.given(seed)
    text = b"ERR the field %b of %b is not a whole number" % (field.encode(), case.keys.job(J1))
    after = seed.copy().dead(J1, last_error=text, died_at=0).pending(J2).wakes(1)
    case.step(reap(case.keys), Reaped((J2,), (J1,), (), more=False), after)


@of_a_number
def test_rule_3_claim_many_moves_a_job_whose_attempts_are_no_number_to_dead(case: Case, value: bytes) -> None:
    seed = case.seed().pending(J1, value).pending(J2)
    case.given(seed)
    text = b"ERR the field attempts of %b is not a whole number" % case.keys.job(J1)
    answer = case.body.run(claim_many(case.keys, lease_ms=HOUR, size=5))
    assert isinstance(answer, ClaimedMany)
    assert [one.job for one in answer.jobs] == [J2]
    assert answer.broken == (J1,)
    case.shows(seed.copy().dead(J1, last_error=text, died_at=0).active(J2, 1, ends=1))


@of_a_lane
def test_rule_3_reprocess_many_leaves_a_job_of_a_damaged_lane_in_dead(case: Case, damage: Damage) -> None:
    seed = damage.harm(case.seed().dead(J1, 3, group=red).dead(J2, 3).dead(J3, HUGE).in_flight(RED, 1))
    case.given(seed)
    case.step(reprocess_many(case.keys), ReprocessedMany(1, None), woken(seed.copy().pending(J2), damage))


@of_a_number
def test_rule_3_reprocess_many_leaves_a_job_whose_attempts_are_no_number_in_dead(case: Case, value: bytes) -> None:
    seed = case.seed().dead(J1, value).dead(J2, 3)
    case.given(seed)
    case.step(reprocess_many(case.keys), ReprocessedMany(1, None), seed.copy().pending(J2).wakes(1))


@of_a_lane
def test_rule_3_repair_leaves_a_job_of_a_damaged_lane_as_it_is(case: Case, damage: Damage) -> None:
    seed = damage.harm(case.seed().row(J1, state=b"active", group=red).row(J2, state=b"active").in_flight(RED, 1))
    case.given(seed)
    assert case.body.run(repair(case.keys)).jobs == (J2,)
    case.shows(woken(seed.copy().pending(J2), damage))


def test_rule_3_purge_takes_a_garbled_instant_of_death_for_none(case: Case) -> None:
    for value in (b"nan", b"abc", HUGE):
        seed = case.seed().dead(J2, 1, died_at=0)
        case.given(seed.copy().dead(J1, 1, died_at=value))
        assert case.body.run(purge(case.keys, age_ms=HOUR)).count == 1
        case.shows(seed)


def test_rule_3_a_metric_that_is_no_number_does_not_stop_a_batch(case: Case) -> None:
    for value in (HUGE, LEAST, b"abc"):
        seed = case.seed().active(J1, 1, ends=1).active(J2, 3, ends=-1)
        seed.fields(case.keys.metrics_completed, count=value).fields(case.keys.metrics_failed, count=value)
        case.given(seed)
        after = seed.copy().forget(J1)
        case.step(complete_many(case.keys, [Completion(J1, Token(1))]), (Completed(J1),), after)
        reason = b"lease lapsed on attempt 3, and no attempt is left"
        after.dead(J2, last_error=reason, died_at=0)
        case.step(reap(case.keys, max_attempts=3), Reaped((), (J2,), (), more=False), after)


@of_a_lane
@pytest.mark.parametrize("place", ["leased", "waiting", "dead"])
def test_rule_3_remove_clears_a_job_whose_lane_is_damaged(case: Case, damage: Damage, place: str) -> None:
    seed = case.seed().in_flight(RED, 2)
    match place:
        case "leased":
            seed.active(J1, 1, ends=1, group=red)
        case "waiting":
            seed.pending(J1, 1, group=red)
        case _:
            seed.dead(J1, 1, group=red)
    seed = damage.harm(seed)
    case.given(seed)
    after = seed.copy().forget(J1)
    if place == "leased":
        counts_down(after, damage)
    if place == "waiting" and damage.name == "gactive":
        after.live(RED)  # nobody can tell whether jobs of it are in flight
    case.step(remove(case.keys, J1), Removed(J1), after)


# --- rule 1: a single job is refused whole, and the reply names what is damaged ---------------------------------------


def refused_naming(case: Case, call: object, text: bytes) -> None:
    before = case.body.dump()
    reply = case.body.reply(call)  # type: ignore[arg-type]  # any call
    assert isinstance(reply, ErrorReply), reply
    assert reply.text.startswith(text.decode())
    assert case.body.dump() == before


@of_a_lane
def test_rule_1_a_single_job_of_a_damaged_lane_is_refused_by_name(case: Case, damage: Damage) -> None:
    seed = damage.harm(case.seed().active(J1, 1, ends=1, group=red).in_flight(RED, 1))
    case.given(seed)
    text = damage.text(seed)
    for call in (
        complete(case.keys, J1, Token(1)),
        retry(case.keys, J1, Token(1), delay_ms=0, max_attempts=3, error="e"),
        release(case.keys, J1, Token(1)),
        delay(case.keys, J1, Token(1), delay_ms=0),
    ):
        refused_naming(case, call, text)
    case.given(damage.harm(case.seed().dead(J1, 1, group=red).in_flight(RED, 1)))
    refused_naming(case, reprocess(case.keys, J1), text)
    case.given(damage.harm(case.seed().scheduled(J1, due=1, group=red).in_flight(RED, 1)))
    refused_naming(case, promote_now(case.keys, J1), text)


@of_a_parent
def test_rule_1_a_single_child_of_a_damaged_parent_is_refused_by_name(case: Case, damage: Damage) -> None:
    seed = damage.harm(with_parent(case).active(J1, 1, ends=1, parent=PARENT))
    case.given(seed)
    refused_naming(case, complete(case.keys, J1, Token(1)), damage.text(seed))
    dying = retry(case.keys, J1, Token(1), delay_ms=0, max_attempts=0, error="e")
    refused_naming(case, dying, damage.text(seed))


@of_a_lane
def test_rule_1_a_child_is_refused_when_the_lane_of_its_parent_is_damaged(case: Case, damage: Damage) -> None:
    seed = with_parent(case).row(PARENT, group=red).in_flight(RED, 1).active(J1, 1, ends=1, parent=PARENT)
    seed = damage.harm(seed.active(J2, 1, ends=1, group=BLUE.encode()).in_flight(BLUE, 1))
    case.given(seed)
    refused_naming(case, complete(case.keys, J1, Token(1)), damage.text(seed))
    answers = case.body.run(complete_many(case.keys, [Completion(J1, Token(1))]))
    assert answers == (Broken(J1),)
    case.shows(seed)


@of_a_number
def test_rule_1_every_counter_is_judged_before_the_first_write(case: Case, value: bytes) -> None:
    one = Token(1)
    dying = retry(case.keys, J1, one, delay_ms=0, max_attempts=0, error="e")
    failing = retry(case.keys, J1, one, delay_ms=0, max_attempts=3, error="e")
    leased = case.seed().active(J1, 1, ends=1)
    unspent, capped = leased.copy().row(J1, unspent=value), leased.copy().row(J1, max_attempts=value)
    seeds = (
        (leased.copy().fields(case.keys.metrics_completed, count=value), complete(case.keys, J1, one)),
        (leased.copy().fields(case.keys.metrics_failed, count=value), dying),
        (unspent, failing),
        (unspent, release(case.keys, J1, one)),
        (unspent, delay(case.keys, J1, one, delay_ms=0, unspent=True)),
        (capped, failing),
        (case.seed().pending(J1, value), claim(case.keys, lease_ms=HOUR)),
        (case.seed().dead(J1, value), reprocess(case.keys, J1, fresh=True)),
    )
    for seed, call in seeds:
        case.given(seed)
        case.refuses(call, ServerError, match="is not a whole number")


def test_rule_4_who_holds_nothing_is_stale_whatever_is_damaged(case: Case) -> None:
    one, dependencies = Token(1), case.keys.job(PARENT) + b":dependencies"
    case.given(with_parent(case).dead(J1, 1, parent=PARENT, unspent=HUGE).string(dependencies, HUGE))
    case.keeps(complete(case.keys, J1, one), Stale(J1))
    case.keeps(complete_many(case.keys, [Completion(J1, one)]), (Stale(J1),))
    case.keeps(delay(case.keys, J1, one, delay_ms=0, unspent=True), Stale(J1))
    for cap in (0, 3):
        case.keeps(retry(case.keys, J1, one, delay_ms=0, max_attempts=cap, error="e"), Stale(J1))


def test_rule_4_who_holds_nothing_is_stale_also_when_the_leases_cannot_be_read(case: Case) -> None:
    case.given(case.seed().pending(J1, 2).string(case.keys.active, FOREIGN))
    case.keeps(complete(case.keys, J1, Token(1)), Stale(J1))
    case.keeps(release(case.keys, J1, Token(1)), Stale(J1))
    case.keeps(delay(case.keys, J1, Token(1), delay_ms=0), Stale(J1))
    case.keeps(retry(case.keys, J1, Token(1), delay_ms=0, max_attempts=3, error="e"), Stale(J1))
    for call in (
        complete(case.keys, J1, Token(2)),
        release(case.keys, J1, Token(2)),
        delay(case.keys, J1, Token(2), delay_ms=0),
        retry(case.keys, J1, Token(2), delay_ms=0, max_attempts=3, error="e"),
    ):
        case.refuses_type(call)
