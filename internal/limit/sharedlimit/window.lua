-- One request against the window of one client.
--
-- KEYS[1] is a list: the times of the client's admitted requests that may still be in the window, oldest first, in
-- microseconds of this server's clock. The nodes' clocks do not matter. ARGV is the limit, the window in microseconds,
-- and as how many the request counts. The reply is whether it is admitted (1 or 0), how many more would be, and the
-- microseconds until one more is free, or after a refusal until such a request is admitted.
local key, limit, window, cost = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
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

-- So many must leave the window before the request is admitted. A node with a higher limit may have admitted more than
-- this limit: then the surplus has to leave too.
local surplus = math.max(0, size + cost - limit)
local admitted = surplus == 0
if admitted then
	for _ = 1, cost do add() end
	size = size + cost
end
-- A second more than the window: the server's expiry has a coarser clock than its TIME.
if admitted or ahead > 0 then redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000) end

return { admitted and 1 or 0, math.max(0, limit - size), at(math.max(0, surplus - 1)) + window - now }
