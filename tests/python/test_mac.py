"""A scheduler's parts, each alone: policies, link adaptation, queues, and what it does with what
two ports say that are none."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from carillon import cells, core
from carillon.commands.mac import require_any_in_time
from carillon.config import Cell, Run, parse_cell, plan_text
from carillon.config.blocks import Direction
from carillon.config.models import Grant, Grants
from carillon.config.sections import Data
from carillon.errors import TooSlowError
from carillon.mac.build import Settings, scheduler_of, with_room
from carillon.mac.flow import Flow
from carillon.mac.harq import Attempt, Processes
from carillon.mac.history import History, spans
from carillon.mac.link_adaptation import LinkAdaptation, Modulation, OuterLoop, Row, rows_of
from carillon.mac.policies import POLICIES, Demand, ProportionalFair, RoundRobin, averaged
from carillon.mac.queues import Arrivals, Constant, Full, Poisson, Queue
from carillon.mac.scheduler import Scheduler, parts_of
from carillon.mac.summary import summary
from carillon.port import Allocation, Block, Refused, TransportBlock, Work

PLENTY = 10**6  # bytes
ROWS = Path(__file__).parents[1] / "data/mac/rows.txt"


def test_round_robin_deals_one_to_each_and_goes_on_where_it_ended() -> None:
    policy = RoundRobin()
    demands = [Demand(user, PLENTY, 100) for user in range(3)]
    assert policy.divide(demands, 7) == {0: 3, 1: 2, 2: 2}
    assert policy.divide(demands, 7) == {1: 3, 2: 2, 0: 2}
    assert policy.divide(demands, 7) == {2: 3, 0: 2, 1: 2}
    assert policy.divide(demands, 7) == {0: 3, 1: 2, 2: 2}


def test_round_robin_leaves_to_others_what_a_user_does_not_need() -> None:
    demands = [Demand(0, 20, 100), Demand(1, PLENTY, 100), Demand(2, PLENTY, 100)]
    assert RoundRobin().divide(demands, 12) == {0: 2, 1: 5, 2: 5}  # 160 bits are two blocks


def test_round_robin_serves_in_turn_whom_a_slot_is_too_small_for() -> None:
    policy = RoundRobin()
    demands = [Demand(user, PLENTY, 14) for user in range(30)]  # three blocks or none
    served: Counter[int] = Counter()
    for _ in range(15):
        served.update(policy.divide(demands, 25).keys())
    assert set(served.values()) == {4}


def test_proportional_fair_decides_as_by_hand() -> None:
    rates = {0: 300.0, 1: 100.0}
    average = {0: 1000.0, 1: 1000.0}
    served = []
    for _ in range(5):
        demands = [Demand(user, PLENTY, rates[user], average[user]) for user in (0, 1)]
        dealt = ProportionalFair().divide(demands, 10)
        served.append(dealt)
        for user in average:
            average[user] = averaged(average[user], dealt.get(user, 0) * rates[user], 4)
    # Metrics 0.3 and 0.1; 0.2 and 0.133; 0.16 and 0.178; 0.213 and 0.149; 0.166 and 0.198.
    assert served == [{0: 10}, {0: 10}, {1: 10}, {0: 10}, {1: 10}]
    assert average == pytest.approx({0: 1353.515625, 1: 627.9296875})


def test_proportional_fair_gives_equal_time_whatever_the_rates() -> None:
    rates = {0: 500.0, 1: 50.0, 2: 100.0}
    average = dict.fromkeys(rates, 0.0)
    slots: Counter[int] = Counter()
    for _ in range(3000):
        demands = [Demand(user, PLENTY, rates[user], average[user]) for user in rates]
        dealt = ProportionalFair().divide(demands, 10)
        slots.update(dealt.keys())
        for user in rates:
            average[user] = averaged(average[user], dealt.get(user, 0) * rates[user], 50)
    assert slots.total() == 3000
    assert max(slots.values()) - min(slots.values()) <= 50  # the window


def test_proportional_fair_gives_the_next_one_what_the_first_does_not_need() -> None:
    demands = [Demand(0, 60, 300, 1), Demand(1, PLENTY, 100, 1)]
    assert ProportionalFair().divide(demands, 10) == {0: 2, 1: 8}


@pytest.mark.parametrize("name", POLICIES)
def test_only_who_has_something_to_send_gets_any(name: str) -> None:
    policy = POLICIES[name]()
    draw = random.Random(1)
    for _ in range(300):
        blocks = draw.randint(1, 60)
        demands = [
            Demand(user, draw.choice([0, 0, 3, 200, PLENTY]), draw.uniform(3, 900), draw.random())
            for user in range(draw.randint(1, 12))
        ]
        dealt = policy.divide(demands, blocks)
        waiting = [each for each in demands if each.waiting]
        assert sum(dealt.values()) <= blocks
        assert set(dealt) <= {each.user for each in waiting}
        assert bool(dealt) == bool(waiting)
        for each in waiting:
            if count := dealt.get(each.user):
                assert each.least(blocks) <= count <= each.needed(blocks)


LADDER = [Row(mcs, "qpsk", 0.0, 0.2 + 0.2 * mcs) for mcs in range(27)]


@pytest.mark.parametrize("target", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("wrong_db", [-4.0, 0.0, 4.0])
def test_the_share_of_failed_blocks_settles_at_the_target(target: float, wrong_db: float) -> None:
    loop = OuterLoop(target)
    link = LinkAdaptation(LADDER, loop)
    draw = random.Random(2)
    failed, blocks = 0, 20_000
    for _ in range(blocks):
        over_db = 12 - link.row.needed_db
        good = draw.random() > 1 / (1 + math.exp(over_db / 0.4))
        link.heard(good=good, snr_db=12 + wrong_db + draw.gauss(0, 1))
        assert abs(loop.offset_db) < loop.limit_db
        failed += not good
    # Steps down and up add up to less than the limits are apart: nothing else can be the rest.
    tolerance = loop.limit_db / (blocks * (loop.down_db + loop.up_db))
    assert failed / blocks == pytest.approx(target, abs=tolerance)


def test_an_offset_never_leaves_its_bounds() -> None:
    draw = random.Random(3)
    loop = OuterLoop(0.1, down_db=2.0, limit_db=5.0)
    for share in (0.0, 1.0, 0.5, 0.05):
        for _ in range(500):
            loop.heard(good=draw.random() >= share)
            assert -5 <= loop.offset_db <= 5


def test_a_user_who_was_not_measured_has_the_slowest_row() -> None:
    link = LinkAdaptation(LADDER)
    assert link.row is LADDER[0]
    link.heard(good=True, snr_db=None)
    assert link.row is LADDER[0]
    link.heard(good=True, snr_db=60.0)
    assert link.row is LADDER[-1]
    link.heard(good=True, snr_db=-90.0)  # of a frame whose packets were lost
    assert link.snr_db == pytest.approx(59)


def test_the_same_rows_are_chosen_as_by_the_engine() -> None:
    """Its own test reads the same file."""
    modulations: dict[str, Modulation] = {"2": "qpsk", "4": "16qam", "6": "64qam"}
    rows, cases = [], 0
    for line in ROWS.read_text().splitlines():
        words = line.split()
        if words[0] == "row":
            _, mcs, bits, rate = words
            efficiency = int(bits) * int(rate) / 1024
            rows.append(Row(int(mcs), modulations[bits], int(rate) / 1024, efficiency))
        elif words[0] != "#":
            target, elements, chosen, *heard = words
            by_efficiency = sorted(rows, key=lambda row: row.efficiency)
            link = LinkAdaptation(by_efficiency, OuterLoop(float(target)))
            for block in heard:
                snr_db = None if block[1:] == "?" else float(block[1:])
                link.heard(good=block[0] == "g", snr_db=snr_db)
            assert link.row_for(int(elements)).mcs == int(chosen), line
            cases += 1
    assert cases == 67


@pytest.mark.parametrize(("table", "rows", "fastest"), [("none", 29, 5.5), ("256qam", 28, 7.3)])
def test_rows_are_those_of_the_engines_tables(table: str, rows: int, fastest: float) -> None:
    cell = cells.load("laptop-8x2").cell
    coding = parse_cell(f"uplink: {{mcs_table: {table}}}").cell.uplink
    known = rows_of(cell.model_copy(update={"uplink": coding}), "uplink")
    assert sorted(row.mcs for row in known) == list(range(rows))
    assert [row.efficiency for row in known] == sorted(row.efficiency for row in known)
    assert known[0].modulation == "qpsk"
    assert known[0].efficiency == pytest.approx(2 * 120 / 1024, rel=0.05)
    assert known[-1].efficiency > fastest


@pytest.mark.parametrize("direction", ["uplink", "downlink"])
def test_no_block_is_too_small_for_its_row(direction: Direction) -> None:
    cell = a_cell().model_copy(update={"data": Data()})
    link = LinkAdaptation(rows_of(cell, direction))
    link.heard(good=True, snr_db=60.0)
    for part in parts_of(cell):
        if part.direction != direction:
            continue
        for blocks in range(1, 7):
            row = link.row_for(blocks * part.elements)
            assert row.efficiency <= link.row.efficiency
            own = Grant(
                slot=part.slot, direction=direction, blocks=blocks,
                modulation=row.modulation, rate=row.rate,
            )  # fmt: skip
            grants = Grants(kind="list", list=[own])
            assert core.validate(plan_text(cell.model_copy(update={"grants": grants}), Run())) == []


def test_every_byte_that_arrived_is_in_one_class() -> None:
    draw = random.Random(4)
    queue = Queue(limit=5000)
    for _ in range(5000):
        queue.arrive(draw.randint(0, 900))
        taken = queue.take(draw.randint(0, 900))
        assert taken <= 900
        (queue.deliver if draw.random() < 0.8 else queue.give_back)(taken)
        queue.take(draw.randint(0, 5))
        assert min(queue.waiting, queue.under_way, queue.dropped, queue.delivered) >= 0
        assert queue.arrived == sum(classes(queue))
    assert queue.dropped > 0


def classes(queue: Queue) -> tuple[int, ...]:
    return queue.delivered, queue.waiting, queue.under_way, queue.dropped


def come(source: Arrivals, times: int = 2000) -> list[int]:
    return [source.after(0.01, 0) for _ in range(times)]


def test_a_constant_load_loses_no_part_of_a_byte() -> None:
    assert sum(come(Constant(12_345.6), 1000)) == pytest.approx(123_456, abs=1)
    assert set(come(Constant(12_345.6))) == {123, 124}


def test_random_packets_repeat_with_their_seed() -> None:
    first = come(Poisson(150_000, 7, 1))
    assert first == come(Poisson(150_000, 7, 1))
    assert first != come(Poisson(150_000, 7, 2))
    assert first != come(Poisson(150_000, 8, 1))
    assert {count % 1500 for count in first} == {0}
    packets = sum(first) / 1500  # 2000 in the mean, with that variance
    assert packets == pytest.approx(2000, abs=5 * math.sqrt(2000))


def test_a_full_queue_is_full_again() -> None:
    assert Full(700).after(1.0, 200) == 500
    assert Full(700).after(1.0, 900) == 0


CELL = """
antennas: 4
users: 3
numerology: {fft_size: 128, subcarriers: 72, spacing_khz: 15}
schedule: PPPUUUUUUUUUUUUUGGGGGGDDDDDD
symbols_per_slot: 14
data: {socket: cell.sock, users_socket: users.sock}
grants: {kind: port}
"""


def a_cell() -> Cell:
    return with_room(parse_cell(CELL, check=False).cell)


def test_parts_of_a_frame_are_where_data_goes() -> None:
    assert [(part.slot, part.direction, part.elements) for part in parts_of(a_cell())] == [
        (0, "uplink", 11 * 12),
        (1, "uplink", 2 * 12),
        (1, "downlink", 5 * 12),
    ]


class Ports:
    """Both of a cell's, in memory, where anything may go wrong."""

    def __init__(self, scheduler: Scheduler, draw: random.Random) -> None:
        self.scheduler = scheduler
        self.draw = draw
        self.frame = 100
        self.wrong = 0.3
        self.known: dict[int, list[tuple[Direction, TransportBlock, bytes]]] = {}
        self.scheduled: set[int] = set()
        self.carried: dict[tuple[int, int], bytes] = {}  # by user and process

    def luck(self) -> bool:
        return self.draw.random() >= self.wrong

    def step(self) -> None:
        """A frame begins; those scheduled are answered, and older ones come."""
        self.frame += 1
        self.scheduler.begun("uplink", self.frame + 2)
        for frame, allocations in self.scheduler.begun("downlink", self.frame):
            assert frame > self.frame + 2
            assert frame not in self.scheduled
            self.scheduled.add(frame)
            for gives in ("downlink", "uplink"):
                self.answer(gives, frame, allocations)
        for frame in [each for each in self.known if each <= self.frame - 3]:
            for direction, block, bits in self.known.pop(frame):
                self.bring(frame, direction, block, bits)

    def answer(self, gives: Direction, frame: int, allocations: Sequence[Allocation]) -> None:
        check(allocations)
        if not self.luck():
            self.scheduler.turned_down(gives, Refused(frame, len(allocations), "late"))
            return
        kept = [each for each in allocations if self.luck()]
        own = [each for each in kept if each.direction == gives]
        others = [each for each in kept if each.direction != gives]
        blocks = tuple(block_of(place, each) for place, each in enumerate(own))
        received = tuple(block_of(place, each) for place, each in enumerate(others))
        sent = dict.fromkeys(blocks, b"")
        again = {block for block, each in zip(blocks, own, strict=True) if each.again}
        for block, bits in self.scheduler.accepted(gives, Work(frame, received, blocks)):
            assert len(bits) == block.bytes
            if gives == "uplink":
                self.expect_the_same(block, bits, again=block in again)
            if self.luck():
                sent[block] = bits
            else:
                self.scheduler.turned_down(gives, Refused(frame, block.index, "late"))
        self.known.setdefault(frame, []).extend((gives, *each) for each in sent.items())

    def expect_the_same(self, block: TransportBlock, bits: bytes, *, again: bool) -> None:
        """As in the process before, if it is sent again."""
        place = (block.user, block.harq_process)
        if again:
            assert bits == self.carried[place]
        self.carried[place] = bits

    def bring(self, frame: int, direction: Direction, block: TransportBlock, bits: bytes) -> None:
        other: Direction = "downlink" if direction == "uplink" else "uplink"
        verdict = "good" if self.luck() else self.draw.choice(["failed", "late", "nothing"])
        bits = bits or bytes(block.bytes)
        if verdict != "nothing":
            self.scheduler.heard(other, Block(frame, block, verdict, 0, bits, 12.0))


def block_of(place: int, allocation: Allocation) -> TransportBlock:
    assert allocation.rate is not None
    bits = int(132 * allocation.blocks * allocation.rate) // 8 * 8
    process, version = allocation.harq_process, allocation.redundancy_version
    assert allocation.again == (version != 0)
    return TransportBlock(place, allocation.user, allocation.slot, 0, 0, process, version, bits)


def check(allocations: Sequence[Allocation]) -> None:
    taken = Counter(
        (each.slot, each.direction, block)
        for each in allocations
        for block in range(each.first_block, each.first_block + each.blocks)
    )
    assert set(taken.values()) <= {1}
    assert all(block < 6 for _, _, block in taken)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loads", [(), (0.2, 0.05, 0)])
@pytest.mark.parametrize("harq", [0, 4])
def test_counts_add_up_whatever_goes_wrong(
    policy: str, loads: tuple[float, ...], harq: int
) -> None:
    cell = a_cell()
    scheduler = scheduler_of(cell, Settings(policy, loads=loads, harq=harq), 2e-3)
    ports = Ports(scheduler, random.Random(5))
    for _ in range(500):
        ports.step()
        for flow in scheduler.flows:
            assert flow.queue.arrived == sum(classes(flow.queue))
            assert min(classes(flow.queue)) >= 0
    assert scheduler.frames == 499
    for flow in scheduler.flows:
        silent = bool(loads) and loads[flow.user] == 0
        assert (flow.queue.delivered == 0) == silent
        assert (flow.blocks.late == 0) == silent
        assert flow.blocks.again == 0 or (harq > 0 and flow.direction == "uplink")
        assert flow.blocks.failed_again <= min(flow.blocks.again, flow.blocks.failed)
    if harq and not loads:
        assert sum(flow.blocks.again for flow in scheduler.flows) > 0
    assert scheduler.unheard > 0
    assert scheduler.refused["late"] > 0


@pytest.mark.parametrize("harq", [0, 4])
def test_what_failed_is_sent_again_until_all_has_arrived(harq: int) -> None:
    scheduler = scheduler_of(a_cell(), Settings(loads=(0.1,), harq=harq), 2e-3)
    ports = Ports(scheduler, random.Random(6))
    for _ in range(300):
        ports.step()
    for flow in scheduler.flows:
        flow.arrivals = Full(0)  # nothing more comes
    ports.wrong = 0.1
    for _ in range(1000):
        ports.step()
    for flow in scheduler.flows:
        assert flow.queue.arrived == flow.queue.delivered + flow.queue.dropped > 0


@pytest.mark.parametrize("harq", [0, 4])
def test_a_block_may_come_before_the_other_ports_answer(harq: int) -> None:
    scheduler = scheduler_of(a_cell(), Settings(harq=harq), 2e-3)
    scheduler.begun("uplink", 2)
    frame, allocations = scheduler.begun("downlink", 1)[0]
    up = [each for each in allocations if each.direction == "uplink"]
    down = [each for each in allocations if each.direction == "downlink"]
    received = tuple(block_of(place, each) for place, each in enumerate(up))
    given = tuple(block_of(place, each) for place, each in enumerate(down))
    fills = dict(scheduler.accepted("uplink", Work(frame, given, received)))
    for block in received:  # the baseband unit's, whose own answer is the next to be read
        scheduler.heard("downlink", Block(frame, block, "good", 0, fills[block], 12.0))
    flow = scheduler.flows[received[0].user]
    assert flow.blocks.good == 0
    scheduler.accepted("downlink", Work(frame, received, given))
    assert sum(flow.blocks.good for flow in scheduler.flows) == len(received)
    assert flow.queue.delivered > 0


def test_a_process_is_sent_again_three_times_and_then_free() -> None:
    processes = Processes(2)
    attempt = Attempt(LADDER[0], blocks=3, elements=24, bits=b"x")
    first, second = processes.begin(attempt), processes.begin(attempt)
    assert not processes.any_free
    versions = []
    while processes.failed(first):
        assert processes.again(24, 2) is None, "it has three resource blocks"
        assert processes.again(12, 6) is None, "of so many elements"
        assert processes.waiting == 1
        again = processes.again(24, 3)
        assert again is not None
        assert again[0] == first
        versions.append(again[1].version)
    assert versions == [2, 3, 1]
    assert processes.any_free
    processes.over(second)
    processes.over(second)  # of which nothing is under way any more
    assert [processes.begin(attempt), processes.begin(attempt)] == [first, second]
    assert not processes.any_free


def test_padding_is_not_sent_again() -> None:
    processes = Processes(1)
    assert not processes.failed(processes.begin(Attempt(LADDER[0], blocks=1, elements=24)))
    assert processes.any_free


def test_a_row_of_the_cells_table_is_told_as_one() -> None:
    text = CELL + "uplink: {mcs_table: 256qam}\n"
    cell = with_room(parse_cell(text, check=False).cell)
    scheduler = scheduler_of(cell, Settings(), 2e-3)
    scheduler.begun("uplink", 2)
    scheduled = scheduler.begun("downlink", 1)
    assert [frame for frame, _ in scheduled] == [3, 4, 5, 6, 7]
    for each in scheduled[0][1]:
        assert (each.mcs is None) == (each.direction == "downlink")
        assert (each.rate is None) == (each.direction == "uplink")


def test_a_scheduler_that_is_always_late_says_so() -> None:
    scheduler = scheduler_of(a_cell(), Settings(), 2e-3)
    scheduler.begun("uplink", 2)
    for number in (1, 50, 100):
        for frame, allocations in scheduler.begun("downlink", number):
            scheduler.turned_down("uplink", Refused(frame, len(allocations), "late"))
    with pytest.raises(TooSlowError, match="99 frames on air, 17 messages too late"):
        require_any_in_time(summary("slow", Settings(), scheduler))
    idle = scheduler_of(a_cell(), Settings(loads=(0,)), 2e-3)
    require_any_in_time(summary("idle", Settings(loads=(0,)), idle))


def a_flow() -> Flow:
    return Flow(0, "uplink", Queue(1000), Full(0), LinkAdaptation(LADDER))


def test_a_history_has_few_points_and_all_bytes() -> None:
    flow, history = a_flow(), History(stride=10)
    for frame in range(10_000):
        flow.queue.arrive(3)
        flow.queue.deliver(flow.queue.take(3))
        flow.blocks.good += 1
        history.look(frame, [flow])
    assert 16 <= len(history.points) <= 32
    known = spans(history.points, 0, 0.001)
    assert {round(span.mbps, 9) for span in known} == {0.024}
    assert {span.bler for span in known} == {0.0}
    assert known[0].seconds == pytest.approx(0.5e-3 * history.stride)
