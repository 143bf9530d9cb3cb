from muster_claim_matcher.domain.wishes import Wish
from muster_claim_matcher.handlers.wishes import Wishes
from muster_types import ClusterId, GangId
from unit.muster_claim_matcher.objects import a_pod_template, a_request

HERE = ClusterId("local")
A, B = GangId("a-1"), GangId("b-2")
WISH = Wish("team", "a", a_request("a", "w", 2), (a_pod_template("w", "g"),))


def test_what_was_dumped_can_be_restored() -> None:
    wishes = Wishes()
    wishes.put(HERE, A, WISH)
    wishes.put(ClusterId("there"), B, WISH)
    again = Wishes()
    again.restore(wishes.dump())
    assert again.get(HERE, A) == WISH
    assert again.get(HERE, B) is None
    assert again.dump() == wishes.dump()


def test_equal_contents_give_equal_bytes() -> None:
    first, second = Wishes(), Wishes()
    for wishes, order in ((first, (A, B)), (second, (B, A))):
        for gang in order:
            wishes.put(HERE, gang, WISH)
    assert first.dump() == second.dump()


def test_a_wish_is_forgotten_once() -> None:
    wishes = Wishes()
    wishes.put(HERE, A, WISH)
    for _ in range(2):
        wishes.drop(HERE, A)
    assert wishes.get(HERE, A) is None


def test_only_what_is_wanted_is_kept() -> None:
    wishes = Wishes()
    for gang in (A, B):
        wishes.put(HERE, gang, WISH)
    wishes.keep(HERE, lambda gang: gang == B)
    assert (wishes.get(HERE, A), wishes.get(HERE, B)) == (None, WISH)
