-- Every request comes from another client address, so that no address reaches its limit. Each thread cycles through
-- its own 32,768 addresses of 10.0.0.0/8, as many as a busy server sees in a minute; even at 100,000 requests a
-- second for half of the time, none of them sends more than 50 requests a minute, below the 60 allowed.
--
-- Requests are put together from prepared pieces, because wrk shares the cores with the server it measures.

local span = 32768
local threads = 0
local head, tail
local octet = {}
local sent = 0
local floor = math.floor

function setup(thread)
	thread:set("first", threads * span)
	threads = threads + 1
end

-- Arguments are the headers, "Name: value" each.
function init(args)
	for _, header in ipairs(args) do
		local name, value = header:match("^([^:]+): (.*)$")
		wrk.headers[name] = value
	end
	wrk.headers["X-Forwarded-For"] = "@ADDRESS@"
	local text = wrk.format()
	local from, to = text:find("@ADDRESS@", 1, true)
	head, tail = text:sub(1, from - 1) .. "10.", text:sub(to + 1)
	for i = 0, 255 do octet[i] = tostring(i) end
end

function request()
	local a = first + sent
	sent = (sent + 1) % span
	return head .. octet[floor(a / 65536)] .. "." .. octet[floor(a / 256) % 256] .. "." .. octet[a % 256] .. tail
end

-- One line for the program that runs this script; wrk.go parses it.
function done(summary, latency)
	local e = summary.errors
	io.write(string.format("bench: %d %d %d %d %d %d %d %d %d %d\n",
		summary.requests, summary.bytes, summary.duration, latency:percentile(50), latency:percentile(99),
		e.status, e.connect, e.read, e.write, e.timeout))
end
