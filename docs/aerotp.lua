-- AeroTP for Wireshark and tshark, after docs/aerotp.md.
-- Try it with: tshark -X lua_script:aerotp.lua -r FILE

-- Lua 5.2 has bit32, Wireshark's own library is called bit; its results are signed.
local bits = bit32 or bit
local function band(a, b) return bits.band(a, b) % 4294967296 end
local function bxor(a, b) return bits.bxor(a, b) % 4294967296 end
local function shift_left(a, count) return bits.lshift(a, count) % 4294967296 end
local function shift_right(a, count) return bits.rshift(a, count) % 4294967296 end

local aerotp = Proto("aerotp", "Aeronautical Transport Protocol")

local PRELUDE, FIXED, HEC, PAYLOAD_CRC = 3, 17, 2, 4
local LARGEST_NUMBER = 2 ^ 30 - 1
local VERSION = 1

local modes = {
    [0] = "reliable",
    "near-reliable",
    "quasi-reliable",
    "unreliable connection",
    "unreliable datagram",
}
local statuses = { [0] = "Bad", "Good" }

local f = aerotp.fields
f.version = ProtoField.uint8("aerotp.version", "Version")
f.covers_header = ProtoField.bool("aerotp.covers_header", "Code covers the header")
f.strength = ProtoField.uint16("aerotp.strength", "Strength of the code, in words of 32 bits")
f.prelude_errors = ProtoField.uint8("aerotp.prelude_errors", "Wrong bits of the prelude")
f.mode = ProtoField.uint8("aerotp.mode", "Mode", base.DEC, modes)
f.class = ProtoField.uint8("aerotp.class", "Service class")
f.odd_incarnation = ProtoField.bool("aerotp.odd_incarnation", "Odd incarnation")
f.incarnation = ProtoField.uint32("aerotp.resumption.incarnation", "Incarnation")
f.heard = ProtoField.uint32("aerotp.resumption.heard", "Incarnation heard of (4294967295: none)")
f.received = ProtoField.uint64("aerotp.resumption.received", "Bytes received")
f.may_open = ProtoField.bool("aerotp.resumption.may_open", "May open the connection")
f.adds_path = ProtoField.bool("aerotp.adds_path", "One more path")
f.asyn = ProtoField.bool("aerotp.flags.asyn", "ASYN", 8, nil, 0x80)
f.afin = ProtoField.bool("aerotp.flags.afin", "AFIN", 8, nil, 0x40)
f.mack = ProtoField.bool("aerotp.flags.mack", "MACK", 8, nil, 0x20)
f.snack = ProtoField.bool("aerotp.flags.snack", "SNACK", 8, nil, 0x10)
f.token_flag = ProtoField.bool("aerotp.flags.token", "TOKEN", 8, nil, 0x08)
f.block_flag = ProtoField.bool("aerotp.flags.block", "BLOCK", 8, nil, 0x04)
f.record = ProtoField.bool("aerotp.flags.record", "RECORD", 8, nil, 0x02)
f.pull = ProtoField.bool("aerotp.flags.pull", "PULL", 8, nil, 0x01)
f.tcp_flags = ProtoField.uint8("aerotp.tcp_flags", "TCP flags", base.HEX)
f.srcport = ProtoField.uint16("aerotp.srcport", "Source port")
f.dstport = ProtoField.uint16("aerotp.dstport", "Destination port")
f.seq = ProtoField.uint32("aerotp.seq", "Sequence number", base.HEX)
f.timestamp = ProtoField.uint32("aerotp.timestamp", "Timestamp, in microseconds")
f.length = ProtoField.uint16("aerotp.length", "Payload length")
f.asyn_initial = ProtoField.uint32("aerotp.asyn.initial", "Initial sequence number", base.HEX)
f.asyn_token = ProtoField.uint32("aerotp.asyn.token", "Token", base.HEX)
f.offer_mss = ProtoField.uint16("aerotp.offer.mss", "Maximum segment size")
f.offer_scale = ProtoField.uint8("aerotp.offer.scale", "Window scale (255: none)")
f.offer_sack = ProtoField.bool("aerotp.offer.sack", "Selective acknowledgments", 8, nil, 2)
f.offer_timestamps = ProtoField.bool("aerotp.offer.timestamps", "Timestamps", 8, nil, 1)
f.cumulative = ProtoField.uint32("aerotp.mack.cumulative", "Cumulative number", base.HEX)
f.echo = ProtoField.uint32("aerotp.mack.echo", "Echo of the newest timestamp")
f.error_rate = ProtoField.uint8("aerotp.mack.error_rate", "Bit error rate, coded")
f.complete = ProtoField.bool("aerotp.mack.complete", "All is there (AFINACK)", 8, nil, 0x80)
f.unconfirmed = ProtoField.uint32("aerotp.mack.unconfirmed", "Bytes not confirmed by the far end")
f.window = ProtoField.uint32("aerotp.mack.window", "Window")
f.held_for = ProtoField.uint32("aerotp.mack.held_for", "Held for, in microseconds")
f.arrival_rate = ProtoField.uint32("aerotp.mack.arrival_rate", "Arrival rate, in kbit/s")
f.restored = ProtoField.uint32("aerotp.mack.restored", "Packets restored")
f.received_start = ProtoField.uint32("aerotp.mack.received.start", "Received: distance")
f.received_length = ProtoField.uint32("aerotp.mack.received.length", "Received: bytes")
f.missing_start = ProtoField.uint32("aerotp.mack.missing.start", "Missing: distance")
f.missing_length = ProtoField.uint32("aerotp.mack.missing.length", "Missing: bytes")
f.missing_damaged = ProtoField.bool("aerotp.mack.missing.damaged", "Missing: came damaged (ELN)")
f.token = ProtoField.uint32("aerotp.token", "Token", base.HEX)
f.block = ProtoField.uint16("aerotp.block.number", "Block")
f.block_index = ProtoField.uint8("aerotp.block.index", "Index")
f.block_sources = ProtoField.uint8("aerotp.block.sources", "Packets with data")
f.block_repairs = ProtoField.uint8("aerotp.block.repairs", "Packets that repair")
f.hec = ProtoField.uint16("aerotp.hec", "Header error check", base.HEX)
f.hec_status = ProtoField.uint8("aerotp.hec.status", "Header error check status", base.DEC, statuses)
f.payload = ProtoField.bytes("aerotp.payload", "Payload")
f.crc = ProtoField.uint32("aerotp.crc", "CRC-32C", base.HEX)
f.crc_status = ProtoField.uint8("aerotp.crc.status", "CRC-32C status", base.DEC, statuses)
f.redundancy = ProtoField.bytes("aerotp.redundancy", "Redundancy")

local malformed = ProtoExpert.new("aerotp.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR)
local wrong_check = ProtoExpert.new("aerotp.check.bad", "Wrong check", expert.group.CHECKSUM, expert.severity.ERROR)
local wrong_prelude = ProtoExpert.new("aerotp.prelude.bad", "Wrong bits in the prelude", expert.group.CHECKSUM, expert.severity.NOTE)
aerotp.experts = { malformed, wrong_check, wrong_prelude }

local ip_addresses = { Field.new("ip.src"), Field.new("ip.dst") }
local ipv6_addresses = { Field.new("ipv6.src"), Field.new("ipv6.dst") }

-- The extended Golay code's word for twelve bits.
local function golay(data)
    local remainder = shift_left(data, 11)
    for degree = 22, 11, -1 do
        if band(remainder, 2 ^ degree) ~= 0 then
            remainder = bxor(remainder, shift_left(0xC75, degree - 11))
        end
    end
    local word = bxor(shift_left(data, 11), remainder)
    local ones, rest = 0, word
    while rest > 0 do
        ones, rest = ones + rest % 2, math.floor(rest / 2)
    end
    return word * 2 + ones % 2
end

local golay_words = {}
for data = 0, 4095 do golay_words[data] = golay(data) end

-- The data whose word is within three bits, and how many are wrong; nil if there is none.
local function golay_decode(word)
    for data = 0, 4095 do
        local difference, wrong = bxor(golay_words[data], word), 0
        while difference > 0 and wrong < 4 do
            difference, wrong = band(difference, difference - 1), wrong + 1
        end
        if wrong < 4 then return data, wrong end
    end
end

-- CRC-16/IBM-3740 of byte arrays, one behind the other.
local function crc16(arrays)
    local register = 0xFFFF
    for _, array in ipairs(arrays) do
        for place = 0, array:len() - 1 do
            register = bxor(register, array:get_index(place) * 256)
            for _ = 1, 8 do
                local carry = register >= 0x8000
                register = register * 2 % 65536
                if carry then register = bxor(register, 0x1021) end
            end
        end
    end
    return register
end

local castagnoli = {}
for byte = 0, 255 do
    local register = byte
    for _ = 1, 8 do
        local odd = register % 2 == 1
        register = math.floor(register / 2)
        if odd then register = bxor(register, 0x82F63B78) end
    end
    castagnoli[byte] = register
end

local function crc32c(array)
    local register = 0xFFFFFFFF
    for place = 0, array:len() - 1 do
        local index = band(bxor(register, array:get_index(place)), 0xFF)
        register = bxor(shift_right(register, 8), castagnoli[index])
    end
    return bxor(register, 0xFFFFFFFF)
end

-- Source and destination of the innermost IP header, as bytes.
local function addresses(pinfo)
    local fields = tostring(pinfo.net_src):find(":") and ipv6_addresses or ip_addresses
    local found = {}
    for place, field in ipairs(fields) do
        local all = { field() }
        if #all == 0 then return nil end
        found[place] = all[#all].range:bytes()
    end
    return found
end

-- What is wrong with a packet, for pcall.
local function fail(range, text)
    error({ range = range, text = text }, 0)
end

-- Bytes that are read from the front.
local Reader = {}
Reader.__index = Reader

function Reader:take(count)
    if self.at + count > self.tvb:len() then
        fail(self.tvb(self.at), ("%d bytes where %d are needed"):format(self.tvb:len() - self.at, count))
    end
    self.at = self.at + count
    return self.tvb(self.at - count, count)
end

-- A number of one, two or four bytes, of which the first two bits say how many; its range too.
function Reader:number()
    local first = self:take(1)
    local size = math.floor(first:uint() / 64)
    if size == 3 then fail(first, "a number that begins with two ones") end
    local further = ({ [0] = 0, 1, 3 })[size]
    self:take(further)
    local range = self.tvb(self.at - further - 1, further + 1)
    return range:uint() % 2 ^ (8 * (further + 1) - 2), range
end

local function add_number(reader, tree, field)
    local value, range = reader:number()
    tree:add(field, range, value)
end

-- Ranges, each by its distance from the end of the one before.
local function add_ranges(reader, tree, count, fields, cumulative, is_missing)
    local last_end = 0
    for _ = 1, count do
        local first = reader.at
        local gap, gap_range = reader:number()
        local length, length_range = reader:number()
        local damaged = is_missing and length % 2
        if is_missing then length = math.floor(length / 2) end
        if gap == 0 and not is_missing then fail(gap_range, "no gap between ranges") end
        local start = last_end + gap
        last_end = start + length
        if length == 0 or last_end > LARGEST_NUMBER then
            fail(length_range, "a range of no bytes, or one that ends beyond 2^30 - 1")
        end
        local whole = reader.tvb(first, reader.at - first)
        local from, to = (cumulative + start) % 2 ^ 32, (cumulative + last_end - 1) % 2 ^ 32
        local branch = tree:add(whole, ("%s: 0x%08x to 0x%08x"):format(is_missing and "Missing" or "Received", from, to))
        branch:add(fields[1], gap_range, start)
        branch:add(fields[2], length_range, length)
        if is_missing then branch:add(f.missing_damaged, length_range, damaged == 1) end
    end
end

local function add_mack(reader, tree, has_missing)
    local branch = tree:add(reader.tvb(reader.at), "MACK")
    local cumulative = reader:take(4)
    branch:add(f.cumulative, cumulative)
    branch:add(f.echo, reader:take(4))
    local rate = reader:take(1)
    local item = branch:add(f.error_rate, rate)
    if rate:uint() > 0 then item:append_text((" (%.2e)"):format(2 ^ (-(255 - rate:uint()) / 8))) end
    local flags = reader:take(1)
    branch:add(f.complete, flags)
    if flags:uint() % 0x40 ~= 0 then fail(flags, "MACK flags that are not assigned") end
    local counts = reader:take(2)
    local received, missing = counts(0, 1):uint(), counts(1, 1):uint()
    if has_missing ~= (missing > 0) then fail(counts, "SNACK and missing ranges contradict each other") end
    for _, field in ipairs({ f.unconfirmed, f.window, f.held_for, f.arrival_rate }) do
        add_number(reader, branch, field)
    end
    if flags:uint() % 0x80 >= 0x40 then add_number(reader, branch, f.restored) end
    local base_number = cumulative:uint()
    add_ranges(reader, branch, received, { f.received_start, f.received_length }, base_number, false)
    add_ranges(reader, branch, missing, { f.missing_start, f.missing_length }, base_number, true)
end

local function add_offer(reader, tree)
    local branch = tree:add(reader.tvb(reader.at), "TCP offer")
    branch:add(f.offer_mss, reader:take(2))
    local scale = reader:take(1)
    branch:add(f.offer_scale, scale)
    if scale:uint() > 14 and scale:uint() < 255 then fail(scale, "a window scale beyond 14") end
    local options = reader:take(1)
    branch:add(f.offer_sack, options)
    branch:add(f.offer_timestamps, options)
    if options:uint() > 3 then fail(options, "TCP options that are not assigned") end
end

local function add_block(reader, tree)
    local branch = tree:add(reader.tvb(reader.at), "Block")
    branch:add(f.block, reader:take(2))
    local index, sources, repairs = reader:take(1), reader:take(1), reader:take(1)
    branch:add(f.block_index, index)
    branch:add(f.block_sources, sources)
    branch:add(f.block_repairs, repairs)
    local all = sources:uint() + repairs:uint()
    if sources:uint() == 0 or all > 255 then fail(sources, "a block without data, or of more than 255 packets") end
    if index:uint() >= all then fail(index, "an index beyond the block") end
end

local function add_resumption(reader, tree)
    local branch = tree:add(reader.tvb(reader.at), "Resumption")
    branch:add(f.incarnation, reader:take(4))
    branch:add(f.heard, reader:take(4))
    local received = reader:take(8)
    branch:add(f.received, received)
    if received(0, 1):uint() > 63 then fail(received, "a position beyond the range") end
    local may_open = reader:take(1)
    branch:add(f.may_open, may_open)
    if may_open:uint() > 1 then fail(may_open, "a value that is not assigned") end
end

-- From the fixed header to the last extension; returns the payload's length and what the columns show.
local function add_header(reader, tree)
    local first, flags, tcp_flags = reader:take(1), reader:take(1), reader:take(1)
    local mode = math.floor(first:uint() / 32)
    tree:add(f.mode, first, mode)
    tree:add(f.class, first, math.floor(first:uint() / 4) % 8)
    if mode > 4 then fail(first, "a mode that is not assigned") end
    if first:uint() % 2 == 1 then tree:add(f.adds_path, first, true) end
    if math.floor(first:uint() / 2) % 2 ~= 0 then tree:add(f.odd_incarnation, first, true) end
    local names = {}
    local set = {}
    local all = { f.asyn, f.afin, f.mack, f.snack, f.token_flag, f.block_flag, f.record, f.pull }
    for place, name in ipairs({ "ASYN", "AFIN", "MACK", "SNACK", "TOKEN", "BLOCK", "RECORD", "PULL" }) do
        tree:add(all[place], flags)
        set[name] = band(flags:uint(), 2 ^ (8 - place)) ~= 0
        if set[name] then names[#names + 1] = name end
    end
    tree:add(f.tcp_flags, tcp_flags)
    local has_offer = band(tcp_flags:uint(), 2) ~= 0
    if has_offer then names[#names + 1] = "SYN" end
    local resumes = band(tcp_flags:uint(), 32) ~= 0
    if resumes then names[#names + 1] = "URG" end
    if band(tcp_flags:uint(), 4) ~= 0 then names[#names + 1] = "RST" end
    if band(tcp_flags:uint(), 64) ~= 0 then names[#names + 1] = "ECE" end
    local ports = reader:take(4)
    tree:add(f.srcport, ports(0, 2))
    tree:add(f.dstport, ports(2, 2))
    local sequence = reader:take(4)
    tree:add(f.seq, sequence)
    tree:add(f.timestamp, reader:take(4))
    local length = reader:take(2)
    tree:add(f.length, length)
    if set.ASYN then
        tree:add(f.asyn_initial, reader:take(4))
        tree:add(f.asyn_token, reader:take(4))
    end
    if has_offer then add_offer(reader, tree) end
    if set.SNACK and not set.MACK then fail(flags, "SNACK without MACK") end
    if set.MACK then add_mack(reader, tree, set.SNACK) end
    if set.TOKEN then tree:add(f.token, reader:take(4)) end
    if set.BLOCK then add_block(reader, tree) end
    if resumes then add_resumption(reader, tree) end
    local info = ("%d → %d [%s] Seq=0x%08x Len=%d"):format(
        ports(0, 2):uint(), ports(2, 2):uint(), table.concat(names, ", "), sequence:uint(), length:uint())
    return length:uint(), info
end

local function add_status(tree, field, range, is_good, what)
    local item = tree:add(field, range, is_good and 1 or 0)
    item:set_generated()
    if not is_good then item:add_proto_expert_info(wrong_check, what) end
end

local function dissect(tvb, pinfo, tree)
    local reader = setmetatable({ tvb = tvb, at = 0 }, Reader)
    local prelude = reader:take(PRELUDE)
    local data, wrong = golay_decode(prelude:uint())
    if not data then fail(prelude, "the prelude is no word of its code, nor near one") end
    local version, strength = math.floor(data / 1024), data % 512
    local covers_header = math.floor(data / 512) % 2 == 1
    tree:add(f.version, prelude, version)
    tree:add(f.covers_header, prelude, covers_header)
    tree:add(f.strength, prelude, strength)
    local errors = tree:add(f.prelude_errors, prelude, wrong)
    errors:set_generated()
    if wrong > 0 then errors:add_proto_expert_info(wrong_prelude) end
    if version ~= VERSION then fail(prelude, "a version that is not known") end
    if strength > 256 then fail(prelude, "a strength beyond 256 words") end
    local length, info = add_header(reader, tree)
    pinfo.cols.info = info
    local header = tvb(PRELUDE, reader.at - PRELUDE):bytes()
    local hec = reader:take(HEC)
    tree:add(f.hec, hec)
    local ends = addresses(pinfo)
    if ends then
        local expected = crc16({ ends[1], ends[2], header })
        add_status(tree, f.hec_status, hec, expected == hec:uint(), ("Header error check: expected 0x%04x"):format(expected))
    end
    local redundancy = (length > 0 or covers_header) and 4 * strength or 0
    local sealed = length > 0 and length + PAYLOAD_CRC or 0
    if tvb:len() ~= reader.at + sealed + redundancy then
        fail(hec, ("%d bytes behind the header where %d are to be"):format(tvb:len() - reader.at, sealed + redundancy))
    end
    if length > 0 then
        local payload = reader:take(length)
        tree:add(f.payload, payload)
        local crc = reader:take(PAYLOAD_CRC)
        tree:add(f.crc, crc)
        local expected = crc32c(payload:bytes())
        add_status(tree, f.crc_status, crc, expected == crc:uint(), ("CRC-32C: expected 0x%08x"):format(expected))
    end
    if redundancy > 0 then tree:add(f.redundancy, reader:take(redundancy)) end
end

function aerotp.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "AeroTP"
    local tree = root:add(aerotp, tvb())
    local is_done, problem = pcall(dissect, tvb, pinfo, tree)
    if is_done then return end
    if type(problem) ~= "table" then error(problem, 0) end
    tree:add_proto_expert_info(malformed, problem.text)
    pinfo.cols.info:append(" [" .. problem.text .. "]")
end

-- The first number for experiments (RFC 3692). Wireshark uses one table for both versions of IP.
DissectorTable.get("ip.proto"):add(253, aerotp)
