"""The test vectors of AeroTP's specification, made once more from its words; crates/proto reads the same ones."""

import pytest

from aerotp_by_hand import (
    build,
    crc16,
    crc32c,
    generator,
    golay,
    header,
    inverse,
    parity,
    repair,
    shard,
    times,
    vectors,
)

VECTORS = vectors()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_fields_make_the_bytes(vector):
    assert build(vector).hex() == vector.bytes.hex()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_checks_are_those_that_the_document_tells(vector):
    between = vector.source.packed + vector.destination.packed
    assert crc16(between + header(vector)) == vector.number("hec")
    payload = vector.data("payload")
    assert vector.has("crc") == bool(payload)
    assert not payload or crc32c(payload) == vector.number("crc")
    assert len(payload) == vector.number("length")
    assert vector.bytes.endswith(vector.data("redundancy"))


def test_there_is_one_of_each_kind():
    told = {name for vector in VECTORS for name, value in vector.fields.items() if value != "0"}
    kinds = "asyn afin mack snack token block record pull".split()
    assert {f"aerotp.flags.{kind}" for kind in kinds} <= told
    assert {"aerotp.offer.mss", "aerotp.covers_header", "aerotp.mack.complete"} <= told
    assert {vector.number("mode") for vector in VECTORS} == {0, 1, 2, 3, 4}
    assert {vector.source.version for vector in VECTORS} == {4, 6}


def test_the_repair_packet_is_that_of_the_two_before_it():
    first, last, repairing = (vector for vector in VECTORS if vector.has("block.number"))
    shards = [
        shard(
            vector.number("seq"),
            vector.number("flags.afin") << 1 | vector.number("flags.record"),
            vector.data("payload"),
        )
        for vector in (first, last)
    ]
    assert repair(shards, 0) == repairing.data("payload")


def test_checks_are_those_of_the_catalogue():
    """CRC-16/IBM-3740 and CRC-32/ISCSI of the catalogue of parametrised CRC algorithms."""
    assert crc16(b"123456789") == 0x29B1
    assert crc32c(b"123456789") == 0xE3069283


def test_golay_words_differ_in_eight_bits():
    """The extended Golay code has 759 words of weight 8 and none lighter but zero; it is linear."""
    weights = [bin(golay(data)).count("1") for data in range(4096)]
    assert sorted(weights)[:2] == [0, 8]
    assert weights.count(8) == 759
    assert all(golay(one) ^ golay(one >> 1) == golay(one ^ one >> 1) for one in range(4096))


def test_codewords_have_the_generators_roots():
    codeword = b"any data" + parity(b"any data", 32)
    root = 1
    for _ in range(32):
        value = 0
        for byte in codeword:
            value = times(value, root) ^ byte
        assert value == 0
        root = times(root, 2)
    assert len(generator(32)) == 33
    assert all(times(number, inverse(number)) == 1 for number in range(1, 256))
