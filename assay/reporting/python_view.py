"""What public functions return: it prints as the table that the command of that name shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any, Generic, TypeVar, overload

from assay.core.errors import AssayError, UsageError
from assay.core.findings import Output, Table

S = TypeVar("S")
T = TypeVar("T")
Row = dict[str, Any]


class TableView:
    """Prints as a table, in a terminal and in a notebook; exports its rows."""

    def _output(self) -> Output:
        raise NotImplementedError

    def to_dicts(self) -> list[Row]:
        """Rows with plain numbers, in SI units."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        try:
            import pandas
        except ImportError:
            raise UsageError(
                "pandas is not installed here.",
                hint="pip install 'assay-lab[pandas]', or use to_dicts().",
            ) from None
        return pandas.DataFrame(self.to_dicts())

    def __str__(self) -> str:
        from assay.reporting.output import render

        return render(self._output(), "text").rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "\n".join(_html_table(table) for table in self._output().tables)


class Results(TableView, Iterator[T], Generic[S, T]):
    """Values that are computed while they are read, and cached.

    Iterating yields each one when it is ready; a second iteration begins with the cached ones.
    Every other use (printing, `len`, an index, `to_dicts`, `best`) computes the rest first.
    """

    def __init__(self, stream: Iterator[S]) -> None:
        self._stream = stream
        self._received: list[S] = []

    def _item(self, received: S) -> T:
        raise NotImplementedError

    def __next__(self) -> T:
        return self._item(self._receive())

    def __iter__(self) -> Iterator[T]:
        return map(self._item, self._iterate())

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        received = self._all()
        if isinstance(index, slice):
            return [self._item(each) for each in received[index]]
        return self._item(received[index])

    def close(self) -> None:
        """Stop measuring."""
        close = getattr(self._stream, "close", None)
        if close:
            close()

    def _receive(self) -> S:
        received = next(self._stream)
        self._received.append(received)
        return received

    def _iterate(self) -> Iterator[S]:
        """The cached ones, then the others as they are ready."""
        position = 0
        while True:
            if position == len(self._received):
                try:
                    self._receive()
                except StopIteration:
                    return
            yield self._received[position]
            position += 1

    def _all(self) -> list[S]:
        self._received.extend(self._stream)
        return self._received


class States(Results[T, T]):
    """States of a comparison or race, the last of which has the answer."""

    def __init__(
        self,
        stream: Iterator[T],
        output: Callable[[T], Output],
        rows: Callable[[T], Sequence[Row]],
        best: Callable[[T], str],
    ) -> None:
        super().__init__(stream)
        self._output_of, self._rows_of, self._best_of = output, rows, best

    @property
    def last(self) -> T:
        """The final state, which has the verdict."""
        states = self._all()
        if not states:
            raise AssayError("Nothing was measured.")
        return states[-1]

    @property
    def best(self) -> str:
        """The case that is faster, if that is decided."""
        return self._best_of(self.last)

    def to_dicts(self) -> list[Row]:
        return list(self._rows_of(self.last))

    def _item(self, received: T) -> T:
        return received

    def _output(self) -> Output:
        return self._output_of(self.last)


class TableList(TableView, list[T]):
    """A list that prints as a table: of results that are stored already."""

    def __init__(
        self,
        items: Sequence[T],
        output: Callable[[Sequence[T]], Output],
        row: Callable[[T], Row],
        best: Callable[[Sequence[T]], T],
    ) -> None:
        super().__init__(items)
        self._output_of, self._row_of, self._best_of = output, row, best

    @property
    def best(self) -> T:
        return self._best_of(self)

    def to_dicts(self) -> list[Row]:
        return [self._row_of(item) for item in self]

    def _output(self) -> Output:
        return self._output_of(self)


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    body = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{body}<ul>{notes}</ul>" if notes else body
