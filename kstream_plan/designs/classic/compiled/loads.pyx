# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How evenly one decision after the other spreads the load (plans/balance), compiled: only what changes is counted."""

from libc.stdint cimport int32_t

from kstream_plan.designs.classic.compiled.memory cimport int32s, int32s_of


cdef class Loads:
    """The tasks of each instance of a group by the decision at hand; at first there are none."""

    def __init__(self, group):
        names = [group.subtopologies[task] for task in group.stateful]
        place_of = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self.memory = []
        self.instances, self.subtopologies = len(group.instances), len(place_of)
        self.capacity = int32s_of(self.memory, list(group.capacities))
        self.subtopology_of = int32s_of(self.memory, [place_of[name] for name in names])
        self.active, self.copies = int32s(self.memory, self.instances), int32s(self.memory, self.instances)
        self.of_subtopology = int32s(self.memory, self.subtopologies * self.instances)
        self.executing = int32s(self.memory, self.subtopologies)
        self.uneven = int32s(self.memory, self.subtopologies)
        self.per_thread, self.changed, self.changed_subtopologies = [0.0] * self.instances, set(), set()

    cdef int count(self, Py_ssize_t place, bint active, int32_t instance, int32_t change) except -1:
        """Let an instance have a task more (1), or no longer (-1)."""
        cdef int32_t subtopology = self.subtopology_of[place]
        if active:
            self.active[instance] += change
            self.of_subtopology[subtopology * self.instances + instance] += change
            self.changed_subtopologies.add(subtopology)
        else:
            self.copies[instance] += change
        self.changed.add(instance)
        return 0

    def told(self):
        """Return the loads.

        Returns:
            Active tasks, standbys and the load per thread by instance; then the most of the first less the fewest; the
            same of how many instances execute a subtopology; and of the active tasks of one subtopology, of the most
            uneven one.
        """
        cdef Py_ssize_t instance
        self._look_at_changed()
        return (
            tuple([self.active[instance] for instance in range(self.instances)]),
            tuple([self.copies[instance] for instance in range(self.instances)]),
            tuple(self.per_thread),
            _spread(self.active, self.instances),
            _spread(self.executing, self.subtopologies),
            max([self.uneven[subtopology] for subtopology in range(self.subtopologies)]),
        )

    cdef int _look_at_changed(self) except -1:
        """See how the loads of instances, and of subtopologies, are since some have changed."""
        cdef Py_ssize_t instance, subtopology, at
        cdef int32_t* of
        for instance in self.changed:
            self.per_thread[instance] = (self.active[instance] + self.copies[instance]) / <double>self.capacity[instance]
        for subtopology in self.changed_subtopologies:
            of = &self.of_subtopology[subtopology * self.instances]
            self.uneven[subtopology], self.executing[subtopology] = _spread(of, self.instances), 0
            for at in range(self.instances):
                self.executing[subtopology] += of[at] > 0
        self.changed.clear()
        self.changed_subtopologies.clear()
        return 0


cdef int32_t _spread(int32_t* counts, Py_ssize_t number) noexcept:
    """Return the most less the fewest."""
    cdef Py_ssize_t at
    cdef int32_t most = counts[0], fewest = counts[0]
    for at in range(number):
        most, fewest = max(most, counts[at]), min(fewest, counts[at])
    return most - fewest
