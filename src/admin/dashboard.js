// The dashboard: asks /api/v1 every few seconds and draws. Every text of the API goes into the page
// as text, never as markup. The token stays in this tab's session storage and goes out in a header.
'use strict';

const period_ms = 3000;
const svg_space = 'http://www.w3.org/2000/svg';
const outcomes = ['allowed', 'delayed', 'refused', 'degraded', 'other'];

const by_id = id => document.getElementById(id);

function element(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name in e) e[name] = value;
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

function drawing(tag, attributes, ...children) {
  const e = document.createElementNS(svg_space, tag);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// --- the API

class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path, change) {
  const headers = {};
  const token = sessionStorage.getItem('penstock-token');
  if (token) headers.Authorization = 'Bearer ' + token;
  const options = {headers, cache: 'no-store', credentials: 'omit', redirect: 'error'};
  if (change !== undefined) {
    options.method = 'POST';
    options.body = JSON.stringify(change);
    headers['Content-Type'] = 'application/json';
  }
  const response = await fetch('/api/v1/' + path, options);
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.error || 'HTTP ' + response.status);
  return answer;
}

function say(text) {
  by_id('message').textContent = text;
  by_id('message').hidden = !text;
}

// Makes a change, says what came of it and looks again.
async function change(path, body, question) {
  if (question && !confirm(question)) return;
  try {
    const answer = await ask(path, body);
    const said = Object.entries(answer).map(([k, v]) => k.replace(/_ms$/, '') + ' ' +
        (k.endsWith('_ms') ? clock(v) : v)).join(', ');
    say('Done: ' + path + ' ' + (body.key || body.limit || '') + ' (' + said + ')');
  } catch (problem) {
    say('Not done: ' + problem.message);
  }
  refresh();
}

// --- words and numbers

const number = n => n.toLocaleString('en');
const clock = ms => new Date(ms).toLocaleTimeString([], {hour12: false});

function span(ms) {
  if (ms <= 0) return '–';
  if (ms < 1000) return ms + ' ms';
  const s = Math.ceil(ms / 1000);
  if (s < 120) return s + ' s';
  return s < 7200 ? Math.ceil(s / 60) + ' min' : Math.ceil(s / 3600) + ' h';
}

function latency(ns) {
  if (!ns) return '–';
  return ns < 1e6 ? ns / 1e3 + ' µs' : ns / 1e6 + ' ms';
}

const percent = share => (share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0) + ' %';
const total = s => outcomes.reduce((sum, o) => sum + s[o], 0);

// The smallest of 1, 2, 5 times a power of ten that is not below `value`.
function round_up(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(m => m * power).find(v => v >= value * 0.999);
}

// --- charts

// Axes for values 0..top; returns the functions that place a sample and a value.
function axes(chart, samples, top, label) {
  const box = chart.getBoundingClientRect();
  const width = Math.max(box.width, 200), height = Math.max(box.height, 80);
  const left = 52, right = 6, above = 8, below = 18;
  chart.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  chart.replaceChildren();
  const from = samples[0].at_ms, to = samples[samples.length - 1].at_ms;
  const x = ms => left + (to === from ? 1 : (ms - from) / (to - from)) * (width - left - right);
  const y = v => above + (1 - v / top) * (height - above - below);
  for (const part of [0, 0.5, 1]) {
    chart.append(
        drawing('line', {class: 'grid', x1: left, x2: width - right, y1: y(top * part), y2: y(top * part)}),
        drawing('text', {x: left - 6, y: y(top * part) + 4, 'text-anchor': 'end'}, label(top * part)));
  }
  chart.append(
      drawing('text', {x: left, y: height - 4}, clock(from)),
      drawing('text', {x: width - right, y: height - 4, 'text-anchor': 'end'}, clock(to)));
  return {x, y};
}

function path_of(points) {
  return points.map((p, i) => (i ? 'L' : 'M') + p[0].toFixed(1) + ' ' + p[1].toFixed(1)).join('');
}

function draw_outcomes(samples) {
  const chart = by_id('chart-outcomes');
  const rate = (s, n) => n * 1000 / s.length_ms;
  const top = round_up(Math.max(1, ...samples.map(s => rate(s, total(s)))));
  const {x, y} = axes(chart, samples, top, number);
  let below = samples.map(() => 0);
  for (const o of outcomes) {
    const above = samples.map((s, i) => below[i] + rate(s, s[o]));
    const points = samples.map((s, i) => [x(s.at_ms), y(above[i])]);
    const back = samples.map((s, i) => [x(s.at_ms), y(below[i])]).reverse();
    if (samples.some(s => s[o] > 0)) {
      chart.append(drawing('path', {class: 'area-' + o, d: path_of(points.concat(back)) + 'Z'}));
    }
    below = above;
  }
}

function draw_lines(id, samples, top, label, lines) {
  const {x, y} = axes(by_id(id), samples, top, label);
  for (const [name, value] of lines) {
    by_id(id).append(drawing('path', {
      class: 'line-' + name,
      d: path_of(samples.map(s => [x(s.at_ms), y(Math.min(top, value(s)))]))
    }));
  }
}

const refused_share = s => total(s) ? s.refused / total(s) : 0;

function draw_history(samples) {
  if (samples.length === 0) return;
  draw_outcomes(samples);
  draw_lines('chart-share', samples, 1, percent, [['refused', refused_share]]);
  const slowest = Math.max(1e4, ...samples.map(s => s.check_p99_ns));
  draw_lines('chart-latency', samples, round_up(slowest), v => v ? latency(v) : '0',
             [['p50', s => s.check_p50_ns], ['p99', s => s.check_p99_ns]]);

  const now = samples[samples.length - 1];
  by_id('now-rate').textContent = number(Math.round(total(now) * 1000 / now.length_ms));
  by_id('now-share').textContent = percent(refused_share(now));
  by_id('now-latency').textContent = latency(now.check_p99_ns);
  by_id('now-store').textContent = number(samples.reduce((n, s) => n + s.store_errors, 0));
}

// --- tables

function fill(id, rows, empty) {
  const body = by_id(id).querySelector('tbody');
  const columns = by_id(id).querySelectorAll('th').length;
  body.replaceChildren(...(rows.length ? rows : [element(
      'tr', {}, element('td', {colSpan: columns, className: 'quiet'}, empty))]));
}

const cell = (text, className) => element('td', {className: className || ''}, String(text));
const button = (text, label, onclick) =>
    element('button', {type: 'button', onclick, 'aria-label': label}, text);

function key_actions(limit, key) {
  return element('td', {className: 'actions'},
      button('Inspect', 'Inspect ' + key, () => inspect(limit, key)),
      button('Free', 'Free ' + key, () => free(limit, key)),
      button('Ban', 'Ban ' + key, () => change('ban', {limit, key, for: '10min', reason: 'dashboard'},
          'Refuse ' + key + ' for 10 minutes?')));
}

// Ends a ban, if there is one, and forgets what was counted.
async function free(limit, key) {
  try {
    await ask('unban', {limit, key});
  } catch (problem) {
    say('Not done: ' + problem.message);
    return;
  }
  await change('reset', {limit, key});
}

function show_limits(limits) {
  fill('limits', limits.map(l => {
    const asked = l.admitted + l.refused;
    const share = asked ? l.refused / asked : 0;
    const quota = l.override ? l.override.quota + ' (until ' + clock(l.override.expires_at_ms) + ')' : l.quota;
    return element('tr', {}, cell(l.name), cell(l.key), cell(l.path), cell(quota), cell(l.mode),
        cell(number(l.admitted), 'n'), cell(number(l.refused), 'n'), cell(number(l.shadow_refused), 'n'),
        element('td', {className: 'share'}, element('meter', {min: 0, max: 1, value: share, title: percent(share)}),
                ' ' + percent(share)));
  }), 'no limits: everything is admitted');
}

function show_offenders(report) {
  fill('offenders', report.top.map(k => element('tr', {}, cell(k.limit), cell(k.key, 'key'),
      cell(k.at_least === k.at_most ? number(k.at_least) : number(k.at_least) + '–' + number(k.at_most), 'n'),
      key_actions(k.limit, k.key))), 'nobody');
  by_id('offenders-note').textContent = number(report.total) + ' in ' + span(report.covered_ms) +
      (report.error_max ? '; keys not listed have at most ' + number(report.error_max) : '') +
      (report.instances > 1 ? '; ' + number(report.instances) + ' instances together' : '') +
      (report.whole ? '' : '; other instances could not be heard');
}

async function inspect(limit, key) {
  const query = new URLSearchParams(limit ? {limit, key} : {key});
  try {
    const {keys} = await ask('inspect?' + query);
    const body = by_id('inspected').querySelector('tbody');
    body.replaceChildren(...keys.map(k => element('tr', {}, cell(k.limit), cell(k.key, 'key'), cell(k.quota),
        cell(number(k.remaining) + ' of ' + number(k.units), 'n'),
        cell(k.banned_until_ms ? 'banned until ' + clock(k.banned_until_ms) :
            k.refusing ? 'refused for ' + span(k.retry_after_ms) : 'admitted'),
        key_actions(k.limit, k.key))));
    by_id('inspected').hidden = false;
    by_id('inspect-key').value = key;
    say(keys.length ? '' : 'No limit counts ' + key);
  } catch (problem) {
    say('Not inspected: ' + problem.message);
  }
}

function show_bans(bans) {
  fill('bans', bans.map(b => element('tr', {}, cell(b.limit || 'all'), cell(b.key, 'key'), cell(clock(b.until_ms)),
      cell(b.by_limit ? 'by the limit' : b.reason),
      element('td', {className: 'actions'}, button('Lift', 'Lift the ban of ' + b.key,
          () => change('unban', b.limit ? {limit: b.limit, key: b.key} : {key: b.key}))))), 'none');
}

function show_refusals(refusals) {
  fill('refusals', refusals.map(r => element('tr', {}, cell(clock(r.at_ms)), cell(r.limit), cell(r.key, 'key'),
      cell(r.method + ' ' + r.path, 'key'), cell(r.status, 'n'), cell(span(r.retry_after_ms), 'n'),
      cell(r.reason))), 'none yet');
}

function show_events(events) {
  by_id('events').replaceChildren(...events.map(e => element('li', {className: e.good ? '' : 'bad'},
      element('time', {dateTime: new Date(e.at_ms).toISOString()}, clock(e.at_ms)), e.kind + ': ' + e.text)));
}

function show_status(s) {
  const state = by_id('state');
  state.textContent = !s.ready ? 'not ready' : s.reasons.length ? 'degraded' : 'ready';
  state.className = 'pill ' + (s.ready && !s.reasons.length ? 'good' : 'bad');
  by_id('facts').textContent = 'v' + s.version + ', policy ' + s.policy.generation + ' of ' +
      clock(s.policy.loaded_at_ms) + ', store ' + s.store.kind +
      (s.store.breaker_open ? ' (not asked: it failed too often)' : s.store.up ? '' : ' (down)') +
      (s.store.duration.count ? ' p99 ≤ ' + latency(s.store.duration.p99_ns) : '');
  const reasons = s.reasons.concat(
      s.policy.reload_error ? ['the policy on disk was rejected: ' + s.policy.reload_error] : []);
  by_id('reasons').replaceChildren(...reasons.map(r => element('li', {}, r)));
  by_id('reasons').hidden = reasons.length === 0;
}

// --- the round

let timer = 0;
let round = 0;

async function refresh() {
  clearTimeout(timer);
  const mine = ++round;
  try {
    const offenders = 'offenders?n=15&by=' + by_id('by').value + '&window=' + by_id('window').value;
    // One request first: a wrong token is one failure, not seven of the ten that lock a person out.
    const status = await ask('status');
    const [history, limits, top, bans, refusals, events] = await Promise.all(
        ['history', 'limits', offenders, 'bans', 'refusals?n=30', 'events'].map(p => ask(p)));
    if (mine !== round) return;
    by_id('login').hidden = true;
    show_status(status);
    draw_history(history.samples);
    show_limits(limits.limits);
    show_offenders(top);
    show_bans(bans.bans);
    show_refusals(refusals.refusals);
    show_events(events.events);
  } catch (problem) {
    if (mine !== round) return;
    const refused = problem instanceof Refused;
    by_id('state').textContent = refused ? 'no access' : 'no answer';
    by_id('state').className = 'pill bad';
    if (refused && problem.status === 401) {
      by_id('login-problem').textContent = sessionStorage.getItem('penstock-token') ? problem.message : '';
      by_id('login').hidden = false;
      return;  // until a token is given
    }
    say(refused ? problem.message : '');
  }
  timer = setTimeout(refresh, document.hidden ? 10 * period_ms : period_ms);
}

for (const o of outcomes) {
  by_id('legend').append(element('li', {},
      drawing('svg', {viewBox: '0 0 10 10', 'aria-hidden': 'true'},
          drawing('rect', {width: 10, height: 10, class: 'area-' + o})), o));
}
by_id('login').addEventListener('submit', event => {
  event.preventDefault();
  sessionStorage.setItem('penstock-token', by_id('token').value);
  by_id('token').value = '';
  refresh();
});
by_id('inspect-form').addEventListener('submit', event => {
  event.preventDefault();
  inspect('', by_id('inspect-key').value.trim());
});
by_id('reload').addEventListener('click', () => change('reload', {}));
by_id('by').addEventListener('change', refresh);
by_id('window').addEventListener('change', refresh);
document.addEventListener('visibilitychange', refresh);
refresh();
