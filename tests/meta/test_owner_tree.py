"""Trees of owners: objects with several owners, cycles, and more objects than a tree has."""

from __future__ import annotations

from collections.abc import Iterator

from setpoint.meta.owner_tree import MOST, References, TreeNode, owned_tree, owners_above


def node(name: str) -> TreeNode:
    return TreeNode(resource="widgets", kind="Widget", key=name, state="current", text="", ready="", owns=[])


def names(nodes: list[TreeNode]) -> list[object]:
    return [(node.key, names(node.owns)) if node.owns else node.key for node in nodes]


class Owners(dict[str, list[str]]):
    """The owners of each object, by uid, which is the name, too."""

    def below(self, uid: str) -> Iterator[tuple[str, TreeNode]]:
        return ((name, node(name)) for name, owners in self.items() if uid in owners)

    def references(self, uid: str) -> References:
        return [{"uid": name} for name in self.get(uid, ())]

    def resolve(self, references: References) -> Iterator[tuple[TreeNode, References]]:
        return ((node(reference["uid"]), self.references(reference["uid"])) for reference in references)


def test_an_owner_of_several_objects_is_once_above_them_and_their_child_is_once_below_it() -> None:
    owners = Owners(left=["top"], right=["top"], lowest=["left", "right"])
    levels = owners_above(owners.references("lowest"), owners.resolve)
    assert [names(level) for level in levels] == [["left", "right"], ["top"]]
    assert names(owned_tree("top", owners.below)[0]) == [("left", ["lowest"]), "right"]


def test_a_cycle_of_owners_has_an_end() -> None:
    owners = Owners(one=["other", "one"], other=["one"])
    levels = owners_above(owners.references("one"), owners.resolve)
    assert [names(level) for level in levels] == [["other", "one"]]
    assert owned_tree("one", owners.below) == ([node("other")], False)


def test_a_tree_tells_whether_it_has_all_objects() -> None:
    owners = Owners({f"w{number}": ["top"] for number in range(MOST)}, last=["w0"])
    del owners["w1"]
    nodes, has_more = owned_tree("top", owners.below)
    assert (len(nodes), has_more) == (MOST - 1, False)
    nodes, has_more = owned_tree("top", Owners(owners, another=["w0"]).below)
    assert (len(nodes), has_more) == (MOST - 2, True)
