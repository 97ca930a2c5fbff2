-- Every request comes from another client address, so that no address reaches its limit. Each thread cycles through
-- its own 49,152 addresses of 10.0.0.0/8, as many as a busy server sees in a minute; even at 150,000 requests a
-- second for half of the time, none of them sends more than 50 requests a minute, below the 60 allowed.
--
-- Requests are put together from prepared pieces, because wrk shares the cores with the server it measures.

local span = 49152
local threads = 0
local heads, tails = {}, {}
local octet = {}
local sent = 0
local floor = math.floor

function setup(thread)
	thread:set("first", threads * span)
	threads = threads + 1
end

-- Arguments are the headers, "Name: value" each, and "@file" for a file of paths, one a line, which are requested at
-- random instead of the one on the command line.
function init(args)
	local paths = {}
	for _, arg in ipairs(args) do
		if arg:sub(1, 1) == "@" then
			for path in io.lines(arg:sub(2)) do paths[#paths + 1] = path end
		else
			local name, value = arg:match("^([^:]+): (.*)$")
			wrk.headers[name] = value
		end
	end
	wrk.headers["X-Forwarded-For"] = "@ADDRESS@"
	if #paths == 0 then paths[1] = wrk.path end
	for i, path in ipairs(paths) do
		local text = wrk.format(nil, path)
		local from, to = text:find("@ADDRESS@", 1, true)
		heads[i], tails[i] = text:sub(1, from - 1) .. "10.", text:sub(to + 1)
	end
	math.randomseed(first + 1)
	for i = 0, 255 do octet[i] = tostring(i) end
end

function request()
	local a = first + sent
	sent = (sent + 1) % span
	local n = #heads > 1 and math.random(#heads) or 1
	return heads[n] .. octet[floor(a / 65536)] .. "." .. octet[floor(a / 256) % 256] .. "." .. octet[a % 256] .. tails[n]
end

-- One line for the program that runs this script; wrk.go parses it.
function done(summary, latency)
	local e = summary.errors
	io.write(string.format("bench: %d %d %d %d %d %d %d %d %d %d\n",
		summary.requests, summary.bytes, summary.duration, latency:percentile(50), latency:percentile(99),
		e.status, e.connect, e.read, e.write, e.timeout))
end
