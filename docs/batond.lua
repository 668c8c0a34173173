-- The encrypted paths of batond for Wireshark and tshark: their frames, and with the keys of a gateway's `key_log` the
-- packets inside. Try it with: tshark -X lua_script:aerotp.lua -X lua_script:batond.lua -o batond.key_log:KEYS -r FILE

-- Lua 5.2 has bit32, Wireshark's own library is called bit; its results are signed.
local bits = bit32 or bit
local bxor, rotate = bits.bxor, bits.lrotate or bits.rol
local WORD = 4294967296

local batond = Proto("batond", "Path of batond")
batond.prefs.key_log = Pref.string("Key log", "", "The file that `key_log` of a gateway's configuration names")

local INITIATION, RESPONSE, COOKIE, TRANSPORT, RESET = 1, 2, 3, 4, 5
local PORT, HEADER, TAG = 4191, 16, 16
local kinds = { "Initiation", "Response", "Cookie", "Transport", "Reset" }
local contents = { [0] = "Packet", "AeroTP of a gateway, or a packet without its outer header", "Probe", "Answer", "Receipt", "MTU probe", "Notice", "Train" }
local NOTICE = 6
local NUMBERED, ANNOUNCED = 0, 1
local numbers = { [0] = "AeroTP behind a header's number", "Number for a header", "Number confirmed", "Number without a header" }
local statuses = { [0] = "Bad", "Good", "No key" }
local BAD, GOOD, UNKNOWN = 0, 1, 2

local f = batond.fields
f.kind = ProtoField.uint8("batond.kind", "Kind", base.DEC, kinds)
f.sender = ProtoField.uint32("batond.sender", "Sender's index", base.HEX)
f.receiver = ProtoField.uint32("batond.receiver", "Receiver's index", base.HEX)
f.counter = ProtoField.uint64("batond.counter", "Counter")
f.sealed = ProtoField.bytes("batond.sealed", "Sealed content")
f.tag = ProtoField.bytes("batond.tag", "Tag")
f.tag_status = ProtoField.uint8("batond.tag.status", "Tag status", base.DEC, statuses)
f.content = ProtoField.uint8("batond.content", "Content", base.DEC, contents)
f.time = ProtoField.uint24("batond.time", "Time of sending, in units of 8.192 µs")
f.number_kind = ProtoField.uint8("batond.number.kind", "Kind", base.DEC, numbers)
f.number = ProtoField.uint16("batond.number", "Number of the IP header", base.DEC)
f.header = ProtoField.bytes("batond.number.header", "IP header")
f.next = ProtoField.uint64("batond.report.next", "Counter after the largest that has arrived")
f.left = ProtoField.uint32("batond.notice.left", "Milliseconds to the loss of the link")
f.received = ProtoField.uint32("batond.report.received", "Datagrams received")
f.echo = ProtoField.uint24("batond.report.echo", "Echo of a time of sending")
f.held = ProtoField.uint24("batond.report.held", "Held for, in units of 8.192 µs")
f.sequence = ProtoField.uint16("batond.report.sequence", "Number of the probe")
f.received_bytes = ProtoField.uint32("batond.report.received_bytes", "Bytes received")
f.rest = ProtoField.bytes("batond.rest", "Noise message, cookie or authentication codes")

local forged = ProtoExpert.new("batond.forged", "Not authentic under the logged key", expert.group.CHECKSUM, expert.severity.ERROR)
batond.experts = { forged }

-- Keys by the receiver's index, each as eight words.
local keys = {}
-- IP headers of AeroTP by the direction of a link and their number, as last announced; and by the frame that had a number.
local announced, restored = {}, {}

-- The little-endian word at a place of a string.
local function word_at(text, place)
    local a, b, c, d = text:byte(place, place + 3)
    return a + b * 256 + c * 65536 + d * 16777216
end

local function words_of(text)
    local words = {}
    for place = 1, #text - 3, 4 do words[#words + 1] = word_at(text, place) end
    return words
end

function batond.init()
    keys, announced, restored = {}, {}, {}
    if batond.prefs.key_log == "" then return end
    local file = io.open(batond.prefs.key_log, "r")
    if not file then
        report_failure("batond: the key log " .. batond.prefs.key_log .. " cannot be read")
        return
    end
    for line in file:lines() do
        local index, key = line:match("^(%x%x%x%x%x%x%x%x) (%x+)$")
        if index and #key == 64 then
            local bytes = key:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)
            keys[tonumber(index, 16)] = words_of(bytes)
        end
    end
    file:close()
end

-- ChaCha20's block function (RFC 8439, section 2.3): sixteen words.
local function block(key, number, nonce)
    local start = {
        0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
        key[1], key[2], key[3], key[4], key[5], key[6], key[7], key[8],
        number, nonce[1], nonce[2], nonce[3],
    }
    local x = {}
    for place = 1, 16 do x[place] = start[place] end
    local function quarter(i, j, k, l)
        local a, b, c, d = x[i], x[j], x[k], x[l]
        a = (a + b) % WORD; d = rotate(bxor(d, a), 16)
        c = (c + d) % WORD; b = rotate(bxor(b, c), 12)
        a = (a + b) % WORD; d = rotate(bxor(d, a), 8)
        c = (c + d) % WORD; b = rotate(bxor(b, c), 7)
        x[i], x[j], x[k], x[l] = a, b, c, d
    end
    for _ = 1, 10 do
        quarter(1, 5, 9, 13); quarter(2, 6, 10, 14); quarter(3, 7, 11, 15); quarter(4, 8, 12, 16)
        quarter(1, 6, 11, 16); quarter(2, 7, 12, 13); quarter(3, 8, 9, 14); quarter(4, 5, 10, 15)
    end
    for place = 1, 16 do x[place] = (x[place] + start[place]) % WORD end
    return x
end

local function bytes_of(word)
    local a = word % 256
    local b = (word - a) / 256 % 256
    local c = math.floor(word / 65536) % 256
    return string.char(a, b, c, math.floor(word / 16777216))
end

local function decrypt(key, nonce, text)
    local out = {}
    for number = 1, math.ceil(#text / 64) do
        local stream = block(key, number, nonce)
        for place = 1, 16 do
            local from = (number - 1) * 64 + (place - 1) * 4 + 1
            local piece = text:sub(from, from + 3)
            if #piece == 0 then break end
            local word = word_at(piece .. ("\0"):rep(4 - #piece), 1)
            out[#out + 1] = bytes_of(bxor(word, stream[place]) % WORD):sub(1, #piece)
        end
    end
    return table.concat(out)
end

-- Numbers of 130 bits are ten limbs of 13 bits, the lowest first: all products fit into the 53 bits of a double.
local LIMBS, LIMB = 10, 8192

local function limbs_of(text)
    local limbs, value, held = {}, 0, 0
    for place = 1, #text do
        value, held = value + text:byte(place) * 2 ^ held, held + 8
        if held >= 13 then
            limbs[#limbs + 1] = value % LIMB
            value, held = math.floor(value / LIMB), held - 13
        end
    end
    limbs[#limbs + 1] = value
    for place = #limbs + 1, LIMBS do limbs[place] = 0 end
    return limbs
end

local function carry(limbs)
    local rest = 0
    for place = 1, LIMBS do
        local sum = limbs[place] + rest
        limbs[place] = sum % LIMB
        rest = math.floor(sum / LIMB)
    end
    return rest
end

-- Modulo 2^130 - 5, 2^130 is 5.
local function reduce(limbs)
    local rest = carry(limbs)
    limbs[1] = limbs[1] + 5 * rest
end

-- Poly1305 of a text with a one-time key of 32 bytes (RFC 8439, section 2.5).
local function poly1305(key, text)
    local r = { key:byte(1, 16) }
    for _, place in ipairs({ 4, 8, 12, 16 }) do r[place] = r[place] % 16 end
    for _, place in ipairs({ 5, 9, 13 }) do r[place] = r[place] - r[place] % 4 end
    r = limbs_of(string.char(table.unpack(r)))
    local sum = limbs_of("")
    for from = 1, #text, 16 do
        local piece = limbs_of(text:sub(from, from + 15) .. "\1")
        for place = 1, LIMBS do sum[place] = sum[place] + piece[place] end
        local product = {}
        for place = 1, LIMBS do
            local total = 0
            for other = 1, LIMBS do
                local factor = place - other + 1
                total = total + sum[other] * (factor > 0 and r[factor] or 5 * r[factor + LIMBS])
            end
            product[place] = total
        end
        reduce(product)
        reduce(product)
        sum = product
    end
    reduce(sum)
    carry(sum)
    -- Less 2^130 - 5, if it is not less already.
    local reduced = {}
    for place = 1, LIMBS do reduced[place] = sum[place] end
    reduced[1] = reduced[1] + 5
    if carry(reduced) > 0 then sum = reduced end
    local last = limbs_of(key:sub(17, 32))
    for place = 1, LIMBS do sum[place] = sum[place] + last[place] end
    carry(sum)
    local tag, value, held = {}, 0, 0
    for place = 1, LIMBS do
        value, held = value + sum[place] * 2 ^ held, held + 13
        while held >= 8 and #tag < 16 do
            tag[#tag + 1] = string.char(value % 256)
            value, held = math.floor(value / 256), held - 8
        end
    end
    return table.concat(tag)
end

local function little_endian_64(number)
    return bytes_of(number % WORD) .. bytes_of(math.floor(number / WORD))
end

-- The content of a frame, or nil if it is not authentic: ChaCha20-Poly1305 without further data (RFC 8439, section 2.8).
local function open(key, counter, sealed, tag)
    local nonce = { 0, word_at(counter, 1), word_at(counter, 5) }
    local first = block(key, 0, nonce)
    local once = {}
    for place = 1, 8 do once[place] = bytes_of(first[place]) end
    local padded = sealed .. ("\0"):rep(-#sealed % 16)
    local lengths = little_endian_64(0) .. little_endian_64(#sealed)
    if poly1305(table.concat(once), padded .. lengths) ~= tag then return nil end
    return decrypt(key, nonce, sealed)
end

local function big_endian_16(number)
    return string.char(math.floor(number / 256), number % 256)
end

-- An IP header with the length of what follows it.
local function with_length(header, length)
    if #header == 40 then return header:sub(1, 4) .. big_endian_16(length) .. header:sub(7) end
    header = header:sub(1, 2) .. big_endian_16(#header + length) .. header:sub(5, 10) .. "\0\0" .. header:sub(13)
    local sum = 0
    for place = 1, #header - 1, 2 do sum = sum + header:byte(place) * 256 + header:byte(place + 1) end
    while sum > 65535 do sum = sum % 65536 + math.floor(sum / 65536) end
    return header:sub(1, 10) .. big_endian_16(65535 - sum) .. header:sub(13)
end

local function add_packet(tvb, pinfo, branch, root)
    local first = math.floor(tvb(0, 1):uint() / 16)
    if first > 3 or tvb:len() < 2 then
        local name = first == 4 and "ip" or first == 6 and "ipv6" or "data"
        Dissector.get(name):call(tvb, pinfo, root)
        return
    end
    local number = tvb(0, 2):uint() % 4096
    branch:add(f.number_kind, tvb(0, 1), first)
    branch:add(f.number, tvb(0, 2), number)
    pinfo.cols.info = numbers[first]
    local direction = ("%s %d %s %d"):format(pinfo.src, pinfo.src_port, pinfo.dst, pinfo.dst_port)
    announced[direction] = announced[direction] or {}
    local rest = tvb:len() > 2 and tvb:raw(2) or ""
    if first == ANNOUNCED and (#rest == 20 or #rest == 40) then
        branch:add(f.header, tvb(2))
        announced[direction][number] = rest
    elseif first == NUMBERED then
        if not pinfo.visited then restored[pinfo.number] = announced[direction][number] end
        local header = restored[pinfo.number]
        local whole = header and with_length(header, #rest) .. rest or rest
        local name = not header and "data" or #header == 20 and "ip" or "ipv6"
        Dissector.get(name):call(ByteArray.new(whole, true):tvb("With its IP header"), pinfo, root)
    end
end

local function add_content(content, pinfo, tree, root)
    local tvb = ByteArray.new(content, true):tvb("Inside the path")
    local kind = tvb(0, 1):uint()
    local branch = tree:add(batond, tvb(), contents[kind] or "Unknown content")
    branch:add(f.content, tvb(0, 1))
    branch:add_le(f.time, tvb(1, 3))
    pinfo.cols.info = contents[kind] or "Unknown content"
    if kind <= 1 and tvb:len() > 4 then
        add_packet(tvb(4):tvb(), pinfo, branch, root)
    elseif kind <= 4 or kind == NOTICE then
        local length = tvb:len() - (kind == NOTICE and 4 or 0)
        if length ~= 24 and length ~= 28 then return end
        branch:add_le(f.next, tvb(4, 8))
        branch:add_le(f.received, tvb(12, 4))
        branch:add_le(f.echo, tvb(16, 3))
        branch:add_le(f.held, tvb(19, 3))
        branch:add_le(f.sequence, tvb(22, 2))
        if length == 28 then branch:add_le(f.received_bytes, tvb(24, 4)) end
        if kind == NOTICE then branch:add_le(f.left, tvb(length, 4)) end
    end
end

local function add_transport(tvb, pinfo, tree, root)
    tree:add_le(f.receiver, tvb(4, 4))
    tree:add_le(f.counter, tvb(8, 8))
    local length = tvb:len() - HEADER - TAG
    if length > 0 then tree:add(f.sealed, tvb(HEADER, length)) end
    local tag = tvb(HEADER + length, TAG)
    tree:add(f.tag, tag)
    local key = keys[tvb(4, 4):le_uint()]
    local content = key and open(key, tvb:raw(8, 8), length > 0 and tvb:raw(HEADER, length) or "", tvb:raw(HEADER + length, TAG))
    local status = content and GOOD or key and BAD or UNKNOWN
    local item = tree:add(f.tag_status, tag, status)
    item:set_generated()
    if status == BAD then item:add_proto_expert_info(forged) end
    if content and #content >= 4 then add_content(content, pinfo, tree, root) end
end

-- Returns the kind of a frame; nil if a datagram is none.
local function kind_of(tvb)
    local length = tvb:len()
    if length < HEADER + TAG or tvb(1, 3):uint() ~= 0 then return nil end
    local kind = tvb(0, 1):uint()
    local fits = ({
        [INITIATION] = length == 157,
        [RESPONSE] = length >= 89 and length <= 153,
        [COOKIE] = length == 80,
        [TRANSPORT] = true,
        [RESET] = length == 32,
    })[kind]
    return fits and kind or nil
end

function batond.dissector(tvb, pinfo, root)
    local kind = kind_of(tvb)
    if not kind then return 0 end
    pinfo.cols.protocol = "batond"
    pinfo.cols.info = kinds[kind]
    local tree = root:add(batond, tvb())
    tree:add(f.kind, tvb(0, 1))
    if kind == TRANSPORT then
        add_transport(tvb, pinfo, tree, root)
        return tvb:len()
    end
    local from = 8
    if kind == INITIATION or kind == RESPONSE then tree:add_le(f.sender, tvb(4, 4)) end
    if kind == RESPONSE then
        tree:add_le(f.receiver, tvb(8, 4))
        from = 12
    elseif kind == COOKIE or kind == RESET then
        tree:add_le(f.receiver, tvb(4, 4))
    end
    tree:add(f.rest, tvb(from))
    return tvb:len()
end

-- Other ports than the usual one: an initiation, or a session whose key is known. WireGuard's frames look alike, but its
-- initiations are shorter.
batond:register_heuristic("udp", function(tvb, pinfo, root)
    local kind = kind_of(tvb)
    local is_ours = kind == INITIATION or kind == TRANSPORT and keys[tvb(4, 4):le_uint()] ~= nil
    if not is_ours then return false end
    pinfo.conversation = batond
    batond.dissector(tvb, pinfo, root)
    return true
end)
DissectorTable.get("udp.port"):add(PORT, batond)
