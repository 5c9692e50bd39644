"""Owns the bits of a cell, or of its users: counts what comes, and fills what goes.

python examples/data-port/counter.py SOCKET [FRAMES]
"""

import sys
from collections import Counter

from carillon.port import Block, Client, Frame, Refused

wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 0  # 0: until the cell ends
seen: Counter[str] = Counter()
given = 0  # frames up to this one have their bits

with Client(sys.argv[1], timeout=60) as port:
    carrier = port.carrier
    print(
        f"cell {carrier.cell}: {len(carrier.received())} blocks come, {len(carrier.given())} go in "
        "frame 0"
    )
    for event in port:
        match event:
            case Frame(number=number):
                first = given + 1 if 0 <= given - number <= carrier.ahead else number + 1
                for frame in range(first, number + carrier.ahead + 1):
                    for block in carrier.given(frame):
                        seen["sent"] += 1
                        port.send(frame, block, bytes([seen["sent"] % 256]) * block.bytes)
                given = number + carrier.ahead
                seen["frames"] += 1
            case Block(verdict=verdict):
                seen[verdict] += 1
            case Refused(reason=reason):
                seen[f"refused: {reason}"] += 1
        if seen["frames"] == wanted > 0:
            break

print(", ".join(f"{name} {count}" for name, count in seen.items()))
