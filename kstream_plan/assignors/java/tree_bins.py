"""Bins of a ``java.util.HashMap`` that have become trees.

A bin with many keys is a red-black tree by (hash, key) and at the same time a list, and the map iterates over the
list: new keys stand behind their parent in the tree, and whatever becomes the root is moved to the front. So the
tree's shape has to be reproduced to know the order.
"""

from __future__ import annotations

from collections.abc import Sequence


class _Node:
    """A node of the tree: ``children`` are the left and the right one."""

    __slots__ = ("children", "key", "parent", "red")

    def __init__(self, key: int, parent: _Node | None) -> None:
        self.key = key
        self.parent = parent
        self.red = parent is not None
        self.children: list[_Node | None] = [None, None]

    @property
    def side(self) -> int:
        """Which child of its parent it is."""
        return int(self.parent is not None and self.parent.children[1] is self)


class TreeBin:
    """One bin as a tree; ``keys`` is its list, which is kept in place.

    Args:
        keys: the chain that becomes a tree: distinct keys, smaller ones first where hashes are equal in Java.
        hashes: the (spread, signed) hash of every key.
    """

    def __init__(self, keys: list[int], hashes: Sequence[int]) -> None:
        self.keys = keys
        self._hashes = hashes
        self._root = _Node(keys[0], None)
        for key in keys[1:]:
            self._insert(key)
        self._root_to_front()

    def put(self, key: int) -> None:
        """Add a key that is not there yet: to the list behind its parent in the tree."""
        parent = self._insert(key)
        self.keys.insert(self.keys.index(parent) + 1, key)
        self._root_to_front()

    def remove(self, key: int) -> bool:
        """Remove a key that is there; return whether the bin is to be a chain again, having become too small."""
        self.keys.remove(key)
        left_child, right_child = self._root.children
        if right_child is None or left_child is None or left_child.children[0] is None:
            return True
        self._delete(self._find(key))
        self._root_to_front()
        return False

    def _root_to_front(self) -> None:
        if self.keys[0] != self._root.key:
            self.keys.remove(self._root.key)
            self.keys.insert(0, self._root.key)

    def _sort_key(self, key: int) -> tuple[int, int]:
        return self._hashes[key], key

    def _find(self, key: int) -> _Node:
        node: _Node | None = self._root
        while node is not None and node.key != key:
            node = node.children[self._sort_key(key) > self._sort_key(node.key)]
        assert node is not None
        return node

    def _insert(self, key: int) -> int:
        """Add a leaf and return the key of the node it was hung under."""
        parent, place = self._root, self._sort_key(key)
        while (child := parent.children[side := place > self._sort_key(parent.key)]) is not None:
            parent = child
        leaf = parent.children[side] = _Node(key, parent)
        self._balance_insertion(leaf)
        return parent.key

    def _balance_insertion(self, node: _Node) -> None:
        """Restore "no red node under a red one" from ``node`` upwards."""
        while (parent := node.parent) is not None and parent.red and (grandparent := parent.parent) is not None:
            side = parent.side
            uncle = grandparent.children[1 - side]
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                grandparent.red = True
                node = grandparent
                continue
            if node.side != side:
                self._rotate(parent, side)
                node, parent = parent, node
            parent.red = False
            grandparent.red = True
            self._rotate(grandparent, 1 - side)
        self._root.red = False

    def _delete(self, node: _Node) -> None:
        """Take a node out; one with two children is filled with its successor, which is taken out instead."""
        if node.children[0] is not None and node.children[1] is not None:
            successor = node.children[1]
            while successor.children[0] is not None:
                successor = successor.children[0]
            node.key = successor.key
            node = successor
        child = node.children[0] or node.children[1]
        if child is not None:
            self._replace(node, child)
            if not node.red:
                self._balance_deletion(child)
        else:
            if not node.red:
                self._balance_deletion(node)
            self._replace(node, None)

    def _balance_deletion(self, node: _Node) -> None:
        """Restore "equally many black nodes on every way down", one of which ``node``'s ways have lost."""
        while (parent := node.parent) is not None and not node.red:
            side = node.side
            sibling = parent.children[1 - side]
            if sibling is not None and sibling.red:
                sibling.red, parent.red = False, True
                self._rotate(parent, side)
                sibling = parent.children[1 - side]
            if sibling is None:
                node = parent
            elif not _any_red(sibling):
                sibling.red = True
                node = parent
            else:
                self._borrow(parent, sibling, side)
                node = self._root
        node.red = False

    def _borrow(self, parent: _Node, sibling: _Node, side: int) -> None:
        """Give the short side a black node from its sibling's, which has a red one to spare."""
        near_child, far_child = sibling.children[side], sibling.children[1 - side]
        if near_child is not None and (far_child is None or not far_child.red):
            near_child.red, sibling.red = False, True
            self._rotate(sibling, 1 - side)
            sibling, far_child = near_child, sibling
        sibling.red = parent.red
        if far_child is not None:
            far_child.red = False
        parent.red = False
        self._rotate(parent, side)

    def _rotate(self, node: _Node, side: int) -> None:
        """Let ``node`` sink to ``side``; its other child takes its place."""
        riser = node.children[1 - side]
        assert riser is not None
        self._replace(node, riser)
        inner = node.children[1 - side] = riser.children[side]
        if inner is not None:
            inner.parent = node
        riser.children[side] = node
        node.parent = riser

    def _replace(self, node: _Node, successor: _Node | None) -> None:
        """Hang ``successor`` where ``node`` hangs."""
        if successor is not None:
            successor.parent = node.parent
        if node.parent is not None:
            node.parent.children[node.side] = successor
        elif successor is not None:
            self._root = successor


def _any_red(node: _Node) -> bool:
    return any(child is not None and child.red for child in node.children)
