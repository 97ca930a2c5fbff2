-- One request against the window of one client.
--
-- KEYS[1] is a list: the times of the client's admitted requests that may still be in the window, oldest first, in
-- microseconds of this server's clock. The nodes' clocks do not matter. ARGV is the limit and the window in
-- microseconds. The reply is whether the request is admitted (1 or 0), how many more would be, and the microseconds
-- until one more is free.
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function at(index) return tonumber(redis.call('LINDEX', key, index)) end
local function add() redis.call('RPUSH', key, string.format('%.0f', now)) end

-- The server's clock may have been set back. Requests admitted later than now count as admitted now: none is
-- forgotten, and no client waits longer than a window.
local size = redis.call('LLEN', key)
local ahead = 0
while ahead < size and at(-1) > now do
	redis.call('RPOP', key)
	ahead = ahead + 1
end
for _ = 1, ahead do add() end

-- A time counts in (now-window, now]. A binary search finds the first, because a window may hold very many.
local first, last = 0, size
if size > 0 and now - at(0) < window then last = 0 end -- usually it is the oldest
while first < last do
	local middle = math.floor((first + last) / 2)
	if now - at(middle) >= window then first = middle + 1 else last = middle end
end
if first > 0 then redis.call('LTRIM', key, first, -1) end
size = size - first

local admitted = size < limit
if admitted then
	add()
	size = size + 1
end
-- A second more than the window: the server's expiry has a coarser clock than its TIME.
if admitted or ahead > 0 then redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000) end

-- A node with a higher limit may have admitted more than this limit: then the surplus has to leave first.
local oldest = at(math.max(0, size - limit))
return { admitted and 1 or 0, math.max(0, limit - size), oldest + window - now }
