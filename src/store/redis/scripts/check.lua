-- One batch in one step: store/decide.hpp in Lua.
-- A batch over several slots is one call per slot. With wants_images each also answers what was stored
-- before and after. With is_undo this part was admitted and charged, but another slot refused: it is
-- taken back and decided as refused. What is still as we wrote it becomes what it was; what somebody
-- changed meanwhile, and a log, is refunded.
-- Answers the clock in microseconds and, per charge,
-- admitted + 2 * never, remaining, retry, reset, next, delay; waits in ticks of the charge's quota.
local states, charges = {}, {}
local charged_us
if is_undo then charged_us, at = unpack('<i7', args, at) end
for i = 1, #KEYS do
  local c = {
    delay = 0, cost = 0, tick = 0, capacity = 0, shadow = false, only_check = false,
    count_denied = false, algorithm = false, now = 0, state = false, admitted = false, never = false,
    left = 0, retry = 0, reset = 0, next = 0, num = 0, den = 0, tag = 0, full = 0, max_wait = 0,
    undelayed = 0, period = 0, burst = 0, burst_period = 0, burst_index = 0, burst_used = 0,
    burst_left = 0, burst_end = 0, burst_moved = false, index = 0, current = 0
  }
  local kind, how
  kind, how, c.cost, c.tick, c.capacity, at = unpack('<BBi7i7i7', args, at)
  c.shadow, c.only_check, c.count_denied = how % 2 == 1, how % 4 >= 2, how % 8 >= 4
  c.algorithm = algorithms[kind]
  c.algorithm.read(c)
  c.now = floor(clock / c.tick)
  local key = KEYS[i]
  local s = states[key]
  if not s and c.capacity > 0 then
    s = fetch(key, c.algorithm)
    s.charge = c
    states[key] = s
  end
  c.state = s
  charges[i] = c
  if how >= 8 then  -- was charged, and is to be taken back
    local before, after
    before, after, at = unpack('<Bc0Bc0', args, at)
    s.charge = c
    if after ~= '' and s.value == after then
      s.value, s.restored = before, true
      c.algorithm.open(s)
    elseif s.present and not s.restored then
      c.charged_at = floor(charged_us / c.tick)
      refunds[kind](c, s)
    end
  end
end

-- Decides `cost` of charge c; the working copy changes only with `keep`.
local function take(c, cost, keep)
  if c.capacity == 0 then
    c.admitted, c.never = cost == 0, cost > 0
    c.left, c.retry, c.reset, c.next = 0, 0, 0, 0
    return c.admitted
  end
  local s = c.state
  c.algorithm.take(c, s, cost, keep)
  if keep then s.charge = c end
  return c.admitted
end

-- What fits of a refused charge: quota/apply.hpp in Lua.
local function take_up_to_cap(c)
  take(c, 0, false)
  take(c, c.cost < c.left and c.cost or c.left, true)
  if not take(c, c.cost, false) then take(c, c.cost, true) end
  local never, retry = c.never, c.retry
  take(c, 0, false)
  c.admitted, c.never, c.retry, c.delay = false, never, retry, 0
end

local only = charges[1]
if is_record then
  for i = 1, #charges do take_up_to_cap(charges[i]) end
elseif #charges == 1 and not is_undo and not only.only_check and not only.count_denied then
  take(only, only.cost, true)  -- the same as below, in one pass
else
  -- After an undo some limit in another slot has refused, so nothing is taken here.
  local admitted = not is_undo
  for i = 1, #charges do
    local c = charges[i]
    if not c.shadow and not take(c, c.cost, not is_undo and not c.only_check) then
      admitted = false
    end
  end
  if not admitted and not is_undo then
    for _, s in pairs(states) do
      if s.changed then
        s.changed = false
        s.algorithm.open(s)
      end
    end
  end
  for i = 1, #charges do
    local c = charges[i]
    local takes = admitted and not c.only_check
    local denied = not c.shadow and not admitted and c.count_denied and not c.only_check
    if denied then
      local admits = c.admitted  -- then it is no reason for the refusal
      take_up_to_cap(c)
      c.admitted = admits
    else
      if c.shadow then take(c, c.cost, takes) end
      if c.admitted then
        if not takes then take(c, 0, false) end
      else
        local never, left, retry, reset, next = c.never, c.left, c.retry, c.reset, c.next
        -- What a refusal stores (a clamped clock, a converted rate) makes its retry hold. One that
        -- was refused only on top of an earlier charge of this batch would be taken: not stored.
        if not take(c, c.cost, false) then take(c, c.cost, true) end
        c.admitted, c.delay = false, 0
        c.never, c.left, c.retry, c.reset, c.next = never, left, retry, reset, next
      end
    end
  end
end

if not is_peek then
  for _, s in pairs(states) do
    if s.changed then
      s.algorithm.save(s.charge, s)
    elseif s.restored and s.value == '' then
      call('DEL', s.key)
    elseif s.restored then
      store(s.charge, s, s.value, s.algorithm.horizon(s.charge))
    elseif s.present and s.charge.cost > 0 and call('PTTL', s.key) == -1 then
      -- Somebody made the value permanent; it must not stay when its time is over.
      local c = s.charge
      call('PEXPIRE', s.key, ceil(s.algorithm.horizon(c) * c.tick / 1000) + spare_ms)
    end
  end
end

local answer = {clock, 0, 0, 0, 0, 0, 0}
for i = 1, #charges do
  local c = charges[i]
  local n = 6 * i - 4
  answer[n] = (c.admitted and 1 or 0) + (c.never and 2 or 0)
  answer[n + 1], answer[n + 2], answer[n + 3] = c.left, c.retry, c.reset
  answer[n + 4], answer[n + 5] = c.next, c.delay
end
if wants_images then
  for i = 1, #charges do
    local s = charges[i].state
    local keeps = s and s.written and s.algorithm.tag
    answer[#answer + 1] = keeps and s.value or ''
    answer[#answer + 1] = keeps and s.written or ''
  end
end
return answer
