"""Settings and the identities that are made of them."""

import dataclasses

from farstep.fields import changed, identity_of


@dataclasses.dataclass(frozen=True)
class Before:
    width: int = 256
    depth: int = 2


@dataclasses.dataclass(frozen=True)
class After:
    """A field was added, which is off as it always was in effect."""

    width: int = 256
    depth: int = 2
    residual: bool = False


def test_only_what_differs_from_the_reference_counts():
    assert changed(Before(width=8), Before()) == {"width": 8}
    assert changed(Before(), Before(width=8)) == {"width": 256}


def test_a_field_that_is_added_changes_no_identity_unless_it_is_used():
    old = identity_of(settings=changed(Before(width=8), Before()))
    assert identity_of(settings=changed(After(width=8), After())) == old
    assert identity_of(settings=changed(After(width=8, residual=True), After())) != old
