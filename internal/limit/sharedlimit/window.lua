-- One call of a node about one client. It settles the node's lease, decides on a request, and extends the lease. Lease
-- and request are both optional.
--
-- KEYS[1] is a list: the times of the client's admitted requests that may still be in the window, oldest first, in
-- microseconds of this server's clock. The nodes' clocks do not matter. Three digits that stand for the node follow
-- each time.
--
-- If nodes have leases, these come before the times, as one text. A lease is the name of the node; how many requests it
-- may admit, or has admitted without having reported them; until when, on this server's clock; the sequence number of
-- the node's last call; and whether it failed to give the lease back when it was asked to (1 or 0).
--
-- ARGV is the limit, the window in microseconds, and as how many the request counts, which is 0 without a request, and
-- -1 to take back the one that was counted last; the node's name and its digits; whether to ask other nodes for their
-- leases (no, yes, or cluster, where the server cannot know whether a node listens); and the sequence number of the
-- call, or 0 if it is not about the lease. Else follow how many requests of the lease the node has left, how many it
-- would like to have, for how many microseconds, and how many microseconds ago it admitted those that it reports.
--
-- The reply is whether the request is admitted (1 or 0), or is to be repeated once other nodes have given their leases
-- back (2), or whether the call was overtaken by a later one and has had no effect (3); how many more requests would be
-- admitted, without this node's lease; the microseconds until one more is free, or after a refusal until such a request
-- is admitted; and by how many the lease has grown.
--
-- Most of the time goes into the calls of commands and into garbage, so there are few calls, and few functions and
-- tables before they are needed.
local key = KEYS[1]
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local node, digits, recall, sequence = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local present = string.format('%.0f%s', now, digits)

-- The last elements show whether the client uses only this node. They often are the whole list.
local recent = redis.call('LRANGE', key, -8, -1)

-- Most calls are the first about a client for some time.
if #recent == 0 and cost == 1 and sequence > 0 and ARGV[11] == '' then
	local tokens = math.floor(math.min(limit / 4, (limit - 1) / 2, tonumber(ARGV[9])))
	if tokens >= 4 then
		local length = tonumber(ARGV[10])
		local lease = string.format('L:%s %d %.0f %s 0', node, tokens, now + length, ARGV[7])
		redis.call('RPUSH', key, lease, present)
		redis.call('PEXPIRE', key, math.ceil((window + length) / 1000) + 1000)
		return { 1, limit - 1 - tokens, window, tokens - ARGV[8] }
	end
end

-- head is 1 while the list begins with the leases.
local text, head, size, oldest, newest = '', 0, #recent, now, now
if size > 0 then
	local front = recent
	if size == 8 then
		front = redis.call('LRANGE', key, 0, 1)
		size = redis.call('LLEN', key)
	end
	if string.byte(front[1]) == 76 then -- L
		text, head, size = front[1], 1, size - 1
	end
	if size > 0 then
		oldest = tonumber(string.sub(front[1 + head], 1, -4))
		newest = tonumber(string.sub(recent[#recent], 1, -4))
	end
end
local function at(index) return tonumber(string.sub(redis.call('LINDEX', key, index), 1, -4)) end

-- The server's clock may have been set back. Requests admitted later than now count as admitted now: none is
-- forgotten, and no client waits longer than a window.
local changed = newest > now
if changed then
	local ahead = {}
	while #ahead < size and at(-1) > now do ahead[#ahead + 1] = string.sub(redis.call('RPOP', key), -3) end
	for i = #ahead, 1, -1 do redis.call('RPUSH', key, string.format('%.0f%s', now, ahead[i])) end
	oldest, newest = at(head), now
end

-- A time counts in (now-window, now]. A binary search finds the first, because a window may hold very many.
if size > 0 and now - oldest >= window then
	local low, high = 1, size
	while low < high do
		local middle = math.floor((low + high) / 2)
		if now - at(head + middle) >= window then low = middle + 1 else high = middle end
	end
	redis.call('LTRIM', key, head + low, -1)
	head, size = 0, size - low
	if size > 0 then oldest = at(0) end
end

-- charge counts a request as admitted at a time. One that is older than the newest of the list is taken for that one:
-- it counts a little longer, and the list stays in order.
local entries = {}
local function charge(time, by)
	if time > now then time = now end
	if size > 0 and time < newest then time = newest end
	if now - time >= window then return end
	if size == 0 then oldest = time end
	newest, size = time, size + 1
	entries[#entries + 1] = string.format('%.0f%s', time, by)
end

-- What a lease allows counts as used while it lasts. A lease that ended without a report is that of a node that is gone
-- or slow: it may have used all of it, up to the last moment.
local own, others, latest, holders, held = nil, 0, now, {}, 0
for name, tokens, ends, number, silent in string.gmatch(text, '(%w+) (%d+) (%d+) (%d+) (%d)') do
	tokens, ends = tonumber(tokens), math.min(tonumber(ends), now + window) -- the clock may have been set back
	if ends <= now then
		for _ = 1, tokens do charge(ends, '000') end
	else
		latest = math.max(latest, ends)
		local lease = { name = name, tokens = tokens, ends = ends, sequence = tonumber(number), silent = silent }
		if name == node then
			own = lease
		else
			others = others + tokens
			holders[#holders + 1] = lease
			if silent == '0' then held = held + tokens end
		end
	end
end

-- finish writes what was counted and the leases, this node's with so many requests, and replies.
local function finish(status, tokens, reset, growth)
	for i = 1, #entries, 1000 do -- Lua can pass only so many arguments
		redis.call('RPUSH', key, unpack(entries, i, math.min(i + 999, #entries)))
		changed = true
	end
	if cost < 0 and size > 0 then
		redis.call('RPOP', key)
		size = size - 1
	end
	if sequence > 0 then
		own = { name = node, tokens = tokens, ends = now + tonumber(ARGV[10]), sequence = sequence, silent = '0' }
		latest = math.max(latest, own.ends)
	end
	if own and own.tokens > 0 then holders[#holders + 1] = own end
	local leases = ''
	for _, lease in ipairs(holders) do
		leases = leases .. string.format(
			':%s %.0f %.0f %.0f %s', lease.name, lease.tokens, lease.ends, lease.sequence, lease.silent)
	end
	if leases == '' then
		if head == 1 then redis.call('LPOP', key) end
	elseif head == 1 then
		redis.call('LSET', key, 0, 'L' .. leases)
	else
		redis.call('LPUSH', key, 'L' .. leases)
	end
	-- A second more than needed: the server's expiry has a coarser clock than its TIME.
	if changed or leases ~= '' then
		local keep = window
		if leases ~= '' then keep = keep + latest - now end
		redis.call('PEXPIRE', key, math.ceil(keep / 1000) + 1000)
	end
	return { status, math.max(0, limit - size - tokens - others), reset, growth }
end

-- The node's own report. What it has left counts only if this server knows the lease: it may have lost its data.
local left, claimed = own and own.tokens or 0, 0
if sequence > 0 then
	if own and own.sequence >= sequence then
		sequence, cost = 0, 0
		return finish(3, left, 0, 0)
	end
	for age in string.gmatch(ARGV[11], '%d+') do charge(now - age, digits) end
	claimed = tonumber(ARGV[8])
	left = math.min(left, claimed)
end

-- Other nodes are asked to give their leases back when those matter: they are more than a 16th of what is left.
if cost > 0 and held > 0 and held * 16 > limit - size - left - others then
	local heard = false
	for _, lease in ipairs(holders) do
		if lease.silent == '0' then
			local listeners = recall ~= 'no' and redis.pcall('PUBLISH', 'assay:limit:recall:' .. lease.name, key)
			if type(listeners) == 'number' and (listeners > 0 or recall == 'cluster') then
				heard = true
			else
				lease.silent = '1'
			end
		end
	end
	if heard then return finish(2, left, 0, left - claimed) end
end

-- So many must leave the window before the request is admitted. A node with a higher limit may have admitted more than
-- this limit: then the surplus has to leave too.
local surplus = math.max(0, size + left + others + cost - limit)
local reset = 0
if surplus > size then
	reset = latest + window - now
elseif surplus > 1 then
	local unwritten = entries[surplus - (size - #entries)]
	reset = (unwritten and tonumber(string.sub(unwritten, 1, -4)) or at(head + surplus - 1)) + window - now
end
if surplus == 0 and cost > 0 then
	if size == 0 then oldest = now end
	newest, size = now, size + cost
	for _ = 1, cost do entries[#entries + 1] = present end
end
if surplus <= 1 and size > 0 then reset = oldest + window - now end

-- A client whose last requests all came through this node may have a lease of a quarter of the limit; else it is spread
-- over several nodes, and the lease is so small that no node misses it. Either leaves most of what is free.
local tokens = left
if sequence > 0 and tonumber(ARGV[9]) > 0 then
	local free = limit - size - others
	local share = free / 64
	if others == 0 then
		local foreign = 0
		for _, element in ipairs(recent) do
			if string.sub(element, -3) ~= digits and element ~= text then foreign = foreign + 1 end
		end
		if foreign == 0 then share = math.min(limit / 4, free / 2) end
	end
	share = math.floor(math.min(share, tonumber(ARGV[9])))
	if share >= left + 4 then tokens = share end -- fewer are not worth the call
end
return finish(surplus == 0 and 1 or 0, tokens, reset, sequence > 0 and tokens - claimed or 0)
