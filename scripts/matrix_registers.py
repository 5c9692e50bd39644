"""The matrix registers of AMX, for an emulated CPU that has none.

Of its instructions those that products of bytes take (Intel's Software Developer's Manual, volume 2),
decoded by iced-x86.
"""

import struct
from collections.abc import Callable

import numpy as np
from iced_x86 import Decoder, Instruction, Mnemonic, Register

REGISTERS, ROWS, ROW_BYTES = 8, 16, 64
INSTRUCTION_BYTES = range(4, 16)  # from the shortest to the longest that there can be
REGISTER_NAMES = {
    getattr(Register, name.upper()): name
    for name in ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp")
    + tuple(f"r{number}" for number in range(8, 16))
}
SIGNS = {  # of the products' bytes
    Mnemonic.TDPBSSD: (np.int8, np.int8),
    Mnemonic.TDPBSUD: (np.int8, np.uint8),
    Mnemonic.TDPBUSD: (np.uint8, np.int8),
    Mnemonic.TDPBUUD: (np.uint8, np.uint8),
}

Read = Callable[[int, int], bytes]
Write = Callable[[int, bytes], object]


class MatrixRegisters:
    """Eight registers of up to 16 rows of 64 bytes, and memory."""

    def __init__(self, read: Read, write: Write) -> None:
        self.read, self.write = read, write
        self.release()

    def release(self) -> None:
        self.configure([(0, 0)] * REGISTERS)

    def configure(self, shapes: list[tuple[int, int]]) -> None:
        """Rows, and bytes of each; all registers become zero."""
        if any(rows > ROWS or row > ROW_BYTES for rows, row in shapes):
            raise ValueError(f"no shapes of matrix registers: {shapes}")
        self.values = [np.zeros(shape, np.uint8) for shape in shapes]

    def execute_before(self, end: int, general: Callable[[str], int]) -> bool:
        """Executes the instruction that ends at an address; False where it is none of these.

        general(name): the value of a general-purpose register.
        """
        for length in INSTRUCTION_BYTES:
            code = self.read(end - length, length)
            instruction = Decoder(64, code, ip=end - length).decode()
            if instruction.len == length and self.execute(instruction, general):
                return True
        return False

    def execute(self, instruction: Instruction, general: Callable[[str], int]) -> bool:
        operands = [
            instruction.op_register(i) - Register.TMM0 for i in range(instruction.op_count)
        ]
        match instruction.mnemonic:
            case Mnemonic.LDTILECFG:
                self.load_configuration(self.address(instruction, general))
            case Mnemonic.TILERELEASE:
                self.release()
            case Mnemonic.TILEZERO:
                self.values[operands[0]][:] = 0
            case Mnemonic.TILELOADD:
                matrix = self.values[operands[0]]
                for row, start in zip(matrix, self.rows(instruction, general), strict=False):
                    row[:] = np.frombuffer(self.read(start, row.size), np.uint8)
            case Mnemonic.TILESTORED:
                matrix = self.values[operands[1]]
                for row, start in zip(matrix, self.rows(instruction, general), strict=False):
                    self.write(start, row.tobytes())
            case mnemonic if mnemonic in SIGNS:
                self.multiply(*SIGNS[mnemonic], *operands)
            case _:
                return False
        return True

    def load_configuration(self, address: int) -> None:
        palette, first_row = struct.unpack("<BB14x", self.read(address, 16))
        if palette != 1 or first_row != 0:
            raise ValueError(f"no palette of matrix registers: {palette}, from row {first_row}")
        row_bytes = struct.unpack("<8H", self.read(address + 16, 16))
        rows = struct.unpack("<8B", self.read(address + 48, 8))
        self.configure(list(zip(rows, row_bytes, strict=True)))

    def multiply(
        self, left_type: type, right_type: type, sums: int, left: int, right: int
    ) -> None:
        """sums[m][n] += Σ left[m][4k + i]·right[k][4n + i], modulo 2³²."""
        a = self.values[left].view(left_type).astype(np.int64)
        b = self.values[right].view(right_type).astype(np.int64)
        columns = b.reshape(b.shape[0], -1, 4).transpose(0, 2, 1).reshape(a.shape[1], -1)
        to = self.values[sums].view(np.uint32)
        to += (a @ columns).astype(np.uint32)

    def rows(self, instruction: Instruction, general: Callable[[str], int]) -> range:
        """Where a matrix's rows lie in memory: the index register is their distance."""
        stride = self.general(instruction.memory_index, general)
        stride *= instruction.memory_index_scale
        start = self.address(instruction, general)
        return range(start, start + ROWS * stride, stride)

    def address(self, instruction: Instruction, general: Callable[[str], int]) -> int:
        """Of the operand in memory, without the index."""
        if instruction.is_ip_rel_memory_operand:
            return int(instruction.ip_rel_memory_address)
        base = self.general(instruction.memory_base, general)
        return (base + int(instruction.memory_displacement)) % (1 << 64)

    @staticmethod
    def general(register: int, general: Callable[[str], int]) -> int:
        return 0 if register == Register.NONE else general(REGISTER_NAMES[register])
