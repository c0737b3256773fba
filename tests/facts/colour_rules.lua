-- Which frames each of Wireshark's stock colour rules matches: one line a rule, its name and the frames' numbers.
--
-- A rule that stands further up paints over those below. To see them all, each is a listener of its own, and the frames
-- are read once for all of them.

local names, frames = {}, {}

local function listen(name, filter)
    local found = {}
    local listener = Listener.new("frame", filter)
    function listener.packet(pinfo)
        found[#found + 1] = pinfo.number
    end
    names[#names + 1], frames[name] = name, found
    return listener
end

local function report()
    for _, name in ipairs(names) do
        print("rule\t" .. name .. "\t" .. table.concat(frames[name], " "))
    end
end

local last
for line in io.lines(Dir.global_config_path("colorfilters")) do
    local name, filter = line:match("^!?@([^@]+)@(.+)@%[")  -- a rule that is switched off begins with !
    if name then
        last = listen(name, filter)
    end
end
last.draw = report
