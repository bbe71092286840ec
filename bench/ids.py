"""What does an id cost? Prints microseconds per mint, and the ratio to `uuid.uuid4` in the same run.

`--json` prints {"mint_us": x, "ratio_uuid4": y} as the last line; y below 1 means cheaper than a random UUID.
"""

import json
import statistics
import sys
import timeit
import uuid

from echomq.ids import Minter

ROUNDS = 9
CALLS = 50_000


def main() -> None:
    """Time both in turn and print the medians."""
    mint = Minter(7).mint
    mints, uuids = [], []
    for _ in range(ROUNDS):
        mints.append(timeit.timeit(mint, number=CALLS) / CALLS * 1e6)
        uuids.append(timeit.timeit(uuid.uuid4, number=CALLS) / CALLS * 1e6)
    mint_us, uuid_us = statistics.median(mints), statistics.median(uuids)
    print(f"mint {mint_us:.2f} us, uuid4 {uuid_us:.2f} us (median of {ROUNDS} rounds of {CALLS} calls)")
    if "--json" in sys.argv:
        print(json.dumps({"mint_us": round(mint_us, 3), "ratio_uuid4": round(mint_us / uuid_us, 3)}))


if __name__ == "__main__":
    main()
