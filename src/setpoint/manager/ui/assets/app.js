// The page of a running operator: asks its debug pages every two seconds while somebody looks, and shows the answers.
import { h, render } from './preact.js';
import { MEANING, STATES, clock, count, rate, rates, relative, seconds, tone } from './words.js';

const EVERY = 2000;
const WITHIN = 10000;
const view = {
  manager: null, controllers: [], before: new Map(), listing: null, detail: null, problem: '', asksToken: false,
  token: '', paused: false, at: null, find: '', state: '', controller: '',
};
let timer = 0;
let generation = 0;

// -- asking ----------------------------------------------------------------------------------------------------------

class Refused extends Error {}

async function ask(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) query.append(name, value);
  const headers = view.token ? { authorization: `Bearer ${view.token}` } : {};
  const url = `../debug/${path}${query.size ? `?${query}` : ''}`;
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN) });
  if (answer.status === 401) throw new Refused();
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  let reason = text;
  try { reason = JSON.parse(text).error || text; } catch { /* the answer is plain text */ }
  throw new Error(reason.trim() || `the answer's status is ${answer.status}`);
}

// The object in the address: #/CONTROLLER/NAMESPACE/NAME, or without a namespace.
function chosen() {
  const [controller, ...key] = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  return controller && key.length ? { controller, key: key.join('/') } : null;
}

const link = (controller, key) => `#/${[controller, ...key.split('/')].map(encodeURIComponent).join('/')}`;

async function look() {
  clearTimeout(timer);
  const mine = ++generation;
  const object = chosen();
  try {
    const [manager, controllers, more] = await Promise.all([
      ask('manager'), ask('controllers'),
      object ? ask('details', object) : ask('objects', { find: view.find, state: view.state, controller: view.controller }),
    ]);
    if (mine !== generation) return;
    remember(controllers, new Date(manager.now));
    Object.assign(view, { manager, problem: '', asksToken: false, at: new Date(manager.now) });
    if (object) view.detail = more; else view.listing = more;
  } catch (problem) {
    if (mine !== generation) return;
    if (problem instanceof Refused) view.asksToken = true;
    else view.problem = problem.name === 'TimeoutError' ? 'no answer within 10 s' : problem.message;
  }
  show();
  if (!view.paused && !document.hidden && !view.asksToken) timer = setTimeout(look, EVERY);
}

// Rates are those of the last ten seconds.
function remember(controllers, now) {
  for (const each of controllers) {
    const name = id(each);
    const past = (view.before.get(name) || []).filter((one) => now - one.at < 10000);
    each.rates = past.length ? rates(past[0].told, each, (now - past[0].at) / 1000) : null;
    view.before.set(name, [...past, { at: now, told: each }]);
  }
  view.controllers = controllers;
}

const id = (told) => (told.process === undefined ? told.name : `${told.name} in process ${told.process}`);

// -- showing ---------------------------------------------------------------------------------------------------------

const State = ({ state }) => h('span', { class: `state ${tone(state)}` }, state);

function Table({ caption, heads, rows, empty }) {
  if (!rows.length) return h('p', { class: 'soft' }, empty);
  return h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': caption },
    h('table', null, h('caption', null, caption),
      h('thead', null, h('tr', null, heads.map((head) =>
        h('th', { scope: 'col', class: head.startsWith('#') ? 'number' : '' }, head.replace('#', ''))))),
      h('tbody', null, rows)));
}

function Top() {
  const { manager } = view;
  const name = view.controllers.map((each) => each.name).filter((each, at, all) => all.indexOf(each) === at);
  return h('header', null, h('div', { class: 'wrap' },
    h('h1', null, h('a', { href: '#/' }, name.length && name.length < 4 ? name.join(', ') : 'setpoint')),
    manager && h('p', null, leadership(manager)),
    h('p', { class: 'push', role: 'status' }, freshness()),
    h('button', { type: 'button', 'aria-pressed': String(view.paused), onClick: pause }, 'Pause')));
}

function leadership({ election, sharding }) {
  if (election) {
    if (election.leads) return `leads, by the lease ${election.lease || 'that is being taken'}`;
    return election.leader ? `standby: ${election.leader} leads` : 'standby: there is no leader yet';
  }
  if (sharding) return `${count(sharding.members.length, 'member')} share the keys of ${sharding.group}`;
  return 'works without an election';
}

function freshness() {
  if (view.paused) return `paused at ${clock(view.at)}`;
  if (view.problem) return view.at ? `not live: last answer at ${clock(view.at)}` : 'not live';
  return view.at ? 'live' : 'asking';
}

function pause() {
  view.paused = !view.paused;
  if (view.paused) { clearTimeout(timer); show(); } else look();
}

function Troubles() {
  const { manager } = view;
  const failing = manager ? { ...manager.unready, ...manager.unhealthy } : {};
  const lines = Object.entries(failing).map(([name, why]) => `${name}: ${why}`);
  if (view.problem) lines.unshift(`The operator does not answer: ${view.problem}`);
  return lines.map((line) => h('p', { class: 'trouble', key: line }, line));
}

function Controllers() {
  const rows = view.controllers.map((each) => h('tr', { key: id(each) },
    h('th', { scope: 'row' }, id(each), h('div', { class: 'soft' }, each.kind)),
    h('td', null, h('span', { class: `state ${each.problem ? 'bad' : tone(each.state === 'new' ? 'standby' : each.state)}` },
      each.state === 'new' ? 'standby' : each.state), each.problem && h('div', null, each.problem)),
    h('td', { class: 'number' }, `${each.running} of ${each.workers}`),
    h('td', { class: 'number' }, each.ready.toLocaleString('en')),
    h('td', { class: 'number' }, each.delayed.toLocaleString('en')),
    h('td', { class: 'number' }, each.rates ? rate(each.rates.all) : '–'),
    h('td', { class: 'number' }, each.rates ? rate(each.rates.errors) : '–'),
    h('td', { class: 'number' }, (each.results.error || 0).toLocaleString('en'))));
  const heads = ['controller', 'state', '#workers busy', '#queued', '#delayed', '#reconciles', '#errors', '#errors so far'];
  return h('section', { 'aria-labelledby': 'controllers' }, h('h2', { id: 'controllers' }, 'Controllers'),
    h(Table, { caption: 'Controllers, with their queues and rates', heads, rows, empty: 'no controller yet' }));
}

function Caches() {
  const rows = view.controllers.flatMap((each) => each.caches.map((cache) => h('tr', { key: `${id(each)} ${cache.resource}` },
    h('th', { scope: 'row' }, cache.resource), h('td', null, id(each)),
    h('td', null, h('span', { class: `state ${cache.error ? 'bad' : cache.synced ? 'good' : 'odd'}` },
      cache.error ? 'failing' : cache.synced ? 'in sync' : 'not synced'), cache.error && h('div', null, cache.error)),
    h('td', { class: 'number' }, cache.objects.toLocaleString('en')),
    h('td', { class: 'number' }, cache.age === null ? 'never' : `${seconds(cache.age)} ago`))));
  const heads = ['cache of', 'for', 'state', '#objects', '#last heard from the server'];
  return h('section', { 'aria-labelledby': 'caches' }, h('h2', { id: 'caches' }, 'Caches'),
    h(Table, { caption: 'Caches, and how fresh they are', heads, rows, empty: 'no cache yet' }));
}

function Leases() {
  const { manager } = view;
  if (!manager || !(manager.election || manager.sharding)) return null;
  const { election, sharding } = manager;
  const pairs = election
    ? [['lease', election.lease || 'none yet'], ['holder', election.leader || 'none'], ['this process', election.identity]]
    : [['group', sharding.group], ['members', sharding.members.join(', ')], ['this process', sharding.identity],
      ['problem', sharding.problem || 'none']];
  return h('section', { 'aria-labelledby': 'leases' }, h('h2', { id: 'leases' }, election ? 'Leader' : 'Shards'),
    h('dl', null, pairs.flatMap(([name, value]) => [h('dt', null, name), h('dd', null, value)])));
}

function Objects() {
  const { listing } = view;
  const counts = listing ? listing.counts : {};
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const now = view.manager && view.manager.now;
  const several = view.controllers.length > 1;
  const chip = (state, text) => h('button', {
    type: 'button', key: state, 'aria-pressed': String(view.state === state), title: MEANING[state],
    onClick: () => { view.state = state; look(); },
  }, text);
  const rows = (listing ? listing.objects : []).map((each) => h('tr', { key: `${each.controller} ${each.key}` },
    h('td', null, h(State, { state: each.state })),
    h('th', { scope: 'row' }, h('a', { href: link(each.controller, each.key) }, each.key),
      h('div', { class: 'soft' }, several ? `${each.kind}, ${each.controller}` : each.kind)),
    h('td', { class: 'text' }, each.text),
    h('td', { class: 'number' }, each.until ? relative(each.until, now) : ''),
    h('td', { class: 'number' }, each.failures || '')));
  const heads = ['state', 'object', 'why', '#next try', '#failures in a row'];
  return h('section', { 'aria-labelledby': 'objects' },
    h('h2', { id: 'objects' }, 'Objects ', h('span', { class: 'soft' }, 'those that need attention first')),
    h('div', { class: 'filters', role: 'search' }, h('label', { for: 'find' }, 'Find by namespace or name'),
      h('input', {
        id: 'find', type: 'search', value: view.find, autocomplete: 'off', spellcheck: false,
        onInput: (event) => { view.find = event.target.value; look(); },
      })),
    h('div', { class: 'chips', role: 'group', 'aria-label': 'Show only one state' },
      chip('', `all ${all.toLocaleString('en')}`),
      STATES.filter((state) => counts[state] || view.state === state).map((state) =>
        chip(state, `${state} ${(counts[state] || 0).toLocaleString('en')}`)),
      several && view.controllers.filter((each, at, list) => list.findIndex((one) => one.name === each.name) === at)
        .map(({ name }) => h('button', {
          type: 'button', key: `of ${name}`, 'aria-pressed': String(view.controller === name),
          onClick: () => { view.controller = view.controller === name ? '' : name; look(); },
        }, `of ${name}`))),
    h(Table, { caption: 'Objects, their states and the reasons', heads, rows, empty: listing ? 'no object matches' : 'asking' }),
    listing && listing.matched > rows.length && h('p', { class: 'soft' },
      `${count(rows.length, 'object')} of ${listing.matched.toLocaleString('en')} are shown: search, or choose a state`));
}

// -- one object ------------------------------------------------------------------------------------------------------

function Detail({ object }) {
  const { detail } = view;
  const told = detail && detail.explanation;
  const back = h('p', null, h('a', { href: '#/' }, '← all objects'));
  if (!told || told.key !== object.key || told.controller !== object.controller) {
    return h('section', null, back, h('h2', { id: 'object', tabIndex: -1 }, object.key), !view.problem && h('p', null, 'asking'));
  }
  const generation_ = told.generation ? `generation ${told.generation}, ` : '';
  return h('section', { 'aria-labelledby': 'object' }, back,
    h('h2', { id: 'object', tabIndex: -1 }, `${told.kind} ${told.key} `, h('span', { class: 'soft' }, `controller ${told.controller}`)),
    h('div', { class: `verdict ${tone(told.state)}` }, h('strong', { role: 'status' }, told.state),
      h('p', null, told.text, told.until ? ` (at ${clock(told.until)})` : ''),
      h('p', null, `${told.state} means: ${MEANING[told.state]}`)),
    told.resourceVersion && h('p', { class: 'soft' }, `seen at ${generation_}version ${told.resourceVersion}`),
    told.caches.map((line) => h('p', { class: 'trouble', key: line }, line)),
    told.pending.length > 0 && h('p', null, `pending: ${told.pending.join(', ')}`),
    h('h3', null, 'Last reconciles'), h(Attempts, { told }),
    h('h3', null, 'Conditions'),
    h(Table, {
      caption: 'Conditions', heads: ['type', 'status', 'reason', 'message', 'since'], empty: 'the object has none',
      rows: detail.conditions.map((each) => h('tr', { key: each.type }, h('th', { scope: 'row' }, each.type),
        h('td', null, each.status), h('td', null, each.reason), h('td', { class: 'text' }, each.message),
        h('td', null, relative(each.since, told.now)))),
    }),
    h('h3', null, 'What it owns'),
    detail.owned.length ? h(Tree, { owned: detail.owned, top: true })
      : h('p', { class: 'soft' }, 'nothing in the caches of this process'),
    h('h3', null, 'Events of the last minutes'),
    h(Table, {
      caption: 'Events that this process has reported', heads: ['time', 'type', 'reason', 'note', '#times'],
      empty: 'this process has reported none',
      rows: detail.events.map((each) => h('tr', { key: each.at + each.reason }, h('td', { class: 'time' }, clock(each.at)),
        h('td', null, each.type), h('td', null, each.reason), h('td', { class: 'text' }, each.note),
        h('td', { class: 'number' }, each.count))),
    }));
}

function Attempts({ told }) {
  const rows = [...told.timeline].reverse().map((each) => h('tr', { key: each.at, class: 'new' },
    h('td', { class: 'time' }, clock(each.at)), h('td', null, h(State, { state: each.result.replace('requeue_after', 'waiting') })),
    h('td', { class: 'text' }, each.detail, each.next && h('div', { class: 'soft' }, `next at ${clock(each.next)}`)),
    h('td', null, each.causes.join(', ')),
    h('td', null, h(Doings, { attempt: each })),
    h('td', { class: 'number' }, seconds(each.seconds))));
  const heads = ['time', 'outcome', 'reason or error', 'because of', 'reads and writes', '#took'];
  return h(Table, { caption: 'Last reconciles, the newest first', heads, rows, empty: 'none is remembered' });
}

function Doings({ attempt }) {
  const reads = attempt.reads.map((each) =>
    `read ${count(each.objects, each.kind)}, ${each.cached ? `as of ${seconds(each.age)} before` : 'live'}`);
  const writes = attempt.writes.map((each) =>
    `${each.verb} ${each.kind} ${each.key}${each.effect || each.fields.length ? `: ${each.effect || each.fields.join(', ')}` : ''}`);
  if (attempt.moreWrites) writes.push(`${count(attempt.moreWrites, 'more write')}`);
  if (!reads.length && !writes.length) return 'none';
  return h('details', null, h('summary', null, `${count(reads.length, 'read')}, ${count(writes.length, 'write')}`),
    h('ul', null, [...reads, ...writes].map((line) => h('li', null, line))));
}

const Tree = ({ owned, top }) => h('ul', { class: top ? 'tree' : '' }, owned.map((each) =>
  h('li', { key: `${each.kind} ${each.key}` }, `${each.kind} `, h('code', null, each.key), ' ',
    each.says && h('span', { class: 'soft' }, each.says), each.deleting && h('span', { class: 'state odd' }, 'being deleted'),
    each.owns.length > 0 && h(Tree, { owned: each.owns }))));

// -- the whole -------------------------------------------------------------------------------------------------------

function Token() {
  const send = (event) => { event.preventDefault(); view.token = event.target.elements.token.value.trim(); look(); };
  return h('form', { onSubmit: send }, h('h2', null, 'This operator requires a token'),
    h('p', null, 'Its user must be allowed to get /debug/*. ', h('code', null, 'kubectl create token ACCOUNT'), ' makes one.'),
    h('div', { class: 'filters' }, h('label', { for: 'token' }, 'Bearer token; it is forgotten when this page is closed'),
      h('input', { id: 'token', name: 'token', type: 'password', autocomplete: 'off', required: true }), h('button', null, 'Look')));
}

function Page() {
  const object = chosen();
  const body = view.asksToken ? [h(Token)] : object ? [h(Troubles), h(Detail, { object })]
    : [h(Troubles), h(Objects), h(Controllers), h(Caches), h(Leases)];
  return [
    h('a', { class: 'skip', href: '#main', onClick: (event) => { event.preventDefault(); document.getElementById('main').focus(); } },
      'Skip to the objects'),
    h(Top), h('main', { class: 'wrap', id: 'main', tabIndex: -1 }, body,
      h('footer', null, h('kbd', null, '/'), ' finds an object, ', h('kbd', null, 'Esc'), ' goes back, ', h('kbd', null, 'p'),
        ' pauses. ', view.manager && `setpoint ${view.manager.version}, ${view.manager.instance}`)),
  ];
}

function show() {
  const object = chosen();
  document.title = object ? `${object.key} – setpoint` : 'setpoint';
  render(h(Page), document.getElementById('page'));
}

addEventListener('hashchange', () => {
  view.detail = null;
  show();
  (document.getElementById('object') || document.getElementById('main')).focus();
  look();
});
document.addEventListener('visibilitychange', () => { if (!document.hidden && !view.paused) look(); });
document.addEventListener('keydown', (event) => {
  const types = event.target.tagName === 'INPUT';
  if (event.key === 'Escape' && chosen()) location.hash = '#/';
  if (types || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/' && document.getElementById('find')) { event.preventDefault(); document.getElementById('find').focus(); }
  if (event.key === 'p') pause();
});
show();
look();
