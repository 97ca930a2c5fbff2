-- One call of a node about one client. It settles the node's lease, decides on a request, and extends the lease. Lease
-- and request are both optional.
--
-- KEYS[1] is a list: the times of the client's admitted requests that may still be in the window, oldest first, in
-- microseconds of this server's clock. The nodes' clocks do not matter. Three digits that stand for the node follow
-- each time.
--
-- KEYS[2] is a hash of the leases: how many requests a node may admit, or has admitted without having reported them,
-- until when on this server's clock, the sequence number of the node's last call, and whether it failed to give the
-- lease back when it was asked to (1 or 0).
--
-- ARGV is the limit, the window in microseconds, and as how many the request counts (0 without a request); the node's
-- name and its digits; whether to ask other nodes for their leases (no, yes, or cluster, where the server cannot know
-- whether a node listens); and the sequence number of the call, or 0 if it is not about the lease. Else follow how many
-- requests of the lease the node has left, how many it would like to have, for how many microseconds, and how many
-- microseconds ago it admitted those that it reports.
--
-- The reply is whether the request is admitted (1 or 0), or is to be repeated once other nodes have given their leases
-- back (2), or whether the call was overtaken by a later one and has had no effect (3); how many more requests would be
-- admitted, without this node's lease; the microseconds until one more is free, or after a refusal until such a request
-- is admitted; and by how many the lease has grown.
local key, leases = KEYS[1], KEYS[2]
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local node, digits, recall, sequence = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function at(index) return tonumber(string.sub(redis.call('LINDEX', key, index), 1, -4)) end
local function entry(time, by) return string.format('%.0f%s', time, by) end

-- The server's clock may have been set back. Requests admitted later than now count as admitted now: none is
-- forgotten, and no client waits longer than a window.
local size = redis.call('LLEN', key)
local ahead = {}
while #ahead < size and at(-1) > now do ahead[#ahead + 1] = string.sub(redis.call('RPOP', key), -3) end
for i = #ahead, 1, -1 do redis.call('RPUSH', key, entry(now, ahead[i])) end
local changed = #ahead > 0

-- A time counts in (now-window, now]. A binary search finds the first, because a window may hold very many.
local first, last = 0, size
if size > 0 and now - at(0) < window then last = 0 end -- usually it is the oldest
while first < last do
	local middle = math.floor((first + last) / 2)
	if now - at(middle) >= window then first = middle + 1 else last = middle end
end
if first > 0 then redis.call('LTRIM', key, first, -1) end
size = size - first

-- charge adds times, each the oldest first. One that is older than the newest of the list is taken for that one: it
-- counts a little longer, and the list stays in order.
local function charge(times, by)
	local newest = size > 0 and at(-1) or 0
	local entries = {}
	for _, time in ipairs(times) do
		newest = math.max(newest, math.min(now, time))
		if now - newest < window then entries[#entries + 1] = entry(newest, by) end
	end
	for i = 1, #entries, 1000 do -- Lua can pass only so many arguments
		redis.call('RPUSH', key, unpack(entries, i, math.min(i + 999, #entries)))
	end
	size, changed = size + #entries, changed or #entries > 0
end

-- What a lease allows counts as used while it lasts. A lease that ended without a report is that of a node that is gone
-- or slow: it may have used all of it, up to the last moment.
local own, others, latest, holders = nil, 0, now, {}
local fields = redis.call('HGETALL', leases)
for i = 1, #fields, 2 do
	local tokens, ends, number, silent = string.match(fields[i + 1], '^(%d+) (%d+) (%d+) (%d)$')
	tokens, ends = tonumber(tokens), math.min(tonumber(ends), now + window) -- the clock may have been set back
	if ends <= now then
		redis.call('HDEL', leases, fields[i])
		local times = {}
		for token = 1, tokens do times[token] = ends end
		charge(times, '000')
	else
		latest = math.max(latest, ends)
		if fields[i] == node then
			own = { tokens = tokens, sequence = tonumber(number) }
		else
			others = others + tokens
			if silent == '0' then
				holders[#holders + 1] = { node = fields[i], tokens = tokens, rest = string.sub(fields[i + 1], 1, -2) }
			end
		end
	end
end

-- The node's own report. What it has left counts only if this server knows the lease: it may have lost its data.
local left, claimed = own and own.tokens or 0, 0
if sequence > 0 then
	if own and own.sequence >= sequence then return { 3, 0, 0, 0 } end
	local times = {}
	for age in string.gmatch(ARGV[11], '%d+') do times[#times + 1] = now - age end
	charge(times, digits)
	claimed = tonumber(ARGV[8])
	left = math.min(left, claimed)
end

-- finish keeps the node's lease, and replies.
local function finish(status, tokens, reset)
	if sequence > 0 and tokens > 0 then
		local length = tonumber(ARGV[10])
		redis.call('HSET', leases, node, string.format('%.0f %.0f %.0f 0', tokens, now + length, sequence))
		redis.call('PEXPIRE', leases, math.ceil((length + window) / 1000) + 1000)
	elseif sequence > 0 and own then
		redis.call('HDEL', leases, node)
	end
	-- A second more than the window: the server's expiry has a coarser clock than its TIME.
	if changed then redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000) end
	return { status, math.max(0, limit - size - tokens - others), reset, sequence > 0 and tokens - claimed or 0 }
end

-- Other nodes are asked to give their leases back when those matter: they are more than a 16th of what is left.
local held = 0
for _, holder in ipairs(holders) do held = held + holder.tokens end
if cost > 0 and held > 0 and held * 16 > limit - size - left - others then
	local heard = false
	for _, holder in ipairs(holders) do
		local listeners = recall ~= 'no' and redis.pcall('PUBLISH', 'assay:limit:recall:' .. holder.node, key)
		if type(listeners) == 'number' and (listeners > 0 or recall == 'cluster') then
			heard = true
		else
			redis.call('HSET', leases, holder.node, holder.rest .. '1')
		end
	end
	if heard then return finish(2, left, 0) end
end

-- So many must leave the window before the request is admitted. A node with a higher limit may have admitted more than
-- this limit: then the surplus has to leave too.
local surplus = math.max(0, size + left + others + cost - limit)
local admitted = surplus == 0
if admitted then
	for _ = 1, cost do redis.call('RPUSH', key, entry(now, digits)) end
	size, changed = size + cost, changed or cost > 0
end

-- A client whose last requests all came through this node may have a lease of a quarter of the limit; else it is spread
-- over several nodes, and the lease is so small that no node misses it. Either leaves most of what is free.
local tokens = left
if sequence > 0 and tonumber(ARGV[9]) > 0 then
	local free = limit - size - others
	local share = free / 64
	if others == 0 then
		local foreign = 0
		for _, element in ipairs(redis.call('LRANGE', key, -8, -1)) do
			if string.sub(element, -3) ~= digits then foreign = foreign + 1 end
		end
		if foreign == 0 then share = math.min(limit / 4, free / 2) end
	end
	share = math.floor(math.min(share, tonumber(ARGV[9])))
	if share >= left + 4 then tokens = share end -- fewer are not worth the call
end

local reset, index = 0, math.max(0, surplus - 1)
if index < size then
	reset = at(index) + window - now
elseif surplus > 0 then
	reset = latest + window - now
end
return finish(admitted and 1 or 0, tokens, reset)
