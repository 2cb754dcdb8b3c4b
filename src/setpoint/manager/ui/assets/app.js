// The page of a running operator or an embedded cluster: asks its debug pages every two seconds while a person looks, and
// shows the answers.
import { h, render } from './preact.js';
import { Attempts } from './attempts.js';
import { Kinds, Stored, rows as clusterRows } from './cluster.js';
import { Owners } from './owners.js';
import { Conditions, Events, State, Table, When, Yaml } from './parts.js';
import { Timeline, attemptMarks, eventMarks } from './timeline.js';
import { MEANING, STANDING, STATES, attemptId, clock, count, eventId, moment, rate, rates, seconds, tone } from './words.js';

const EVERY = 2000;
const WITHIN = 10000;
const view = {
  manager: null, controllers: [], before: new Map(), listing: null, kinds: [], detail: null, problem: '', answers: true, asksToken: false,
  token: '', paused: false, at: null, find: '', state: '', controller: '', wantsYaml: false, yaml: null,
};
let timer = 0;
let generation = 0;

// -- asking ----------------------------------------------------------------------------------------------------------

class Refused extends Error {}
class Answered extends Error {}

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
  throw new Answered(reason.trim() || `the answer's status is ${answer.status}`);
}

// The object in the address: #/CONTROLLER/NAMESPACE/NAME for one that a controller has, #!/KIND/NAMESPACE/NAME for one
// that an embedded cluster stores; both also without a namespace. #!/KIND is the list of that kind.
function chosen() {
  const [first, ...key] = location.hash.replace(/^#!?\/?/, '').split('/').map(decoded);
  if (!first || !key.length) return null;
  return { [location.hash.startsWith('#!') ? 'kind' : 'controller']: first, key: key.join('/') };
}

function chosenKind() {
  const [, kind] = location.hash.match(/^#!\/([^/]+)$/) || [];
  return kind ? decoded(kind) : '';
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

const address = (start, first, key) => `${start}/${[first, ...key.split('/')].map(encodeURIComponent).join('/')}`;
const link = (controller, key) => address('#', controller, key);
const stored = (kind, key) => (key ? address('#!', kind, key) : `#!/${encodeURIComponent(kind)}`);

// The content of an object, for which a token is required everywhere; a refusal is about this part of the page only.
async function document_(object) {
  try {
    return await ask('yaml', object);
  } catch (problem) {
    if (problem instanceof Refused) return { asksToken: true };
    if (problem instanceof Answered) return { problem: problem.message };
    throw problem;
  }
}

// A page asks what it shows; the process says first whether it is a cluster.
async function questions(object) {
  const manager = ask('manager');
  const controllers = ask('controllers');
  controllers.catch(() => {}); // it is awaited below, after the manager's answer
  const { cluster } = view.manager || await manager;
  const asked = { find: view.find, state: view.state };
  let more;
  if (object) more = ask(object.kind ? 'stored' : 'details', object);
  else more = cluster ? ask('named', { ...asked, kind: view.controller }) : ask('objects', { ...asked, controller: view.controller });
  const kinds = cluster && !object ? ask('kinds') : view.kinds;
  return Promise.all([manager, controllers, more, kinds, view.wantsYaml && object && object.controller ? document_(object) : null]);
}

async function look() {
  clearTimeout(timer);
  const mine = ++generation;
  const object = chosen();
  try {
    const [manager, controllers, more, kinds, yaml] = await questions(object);
    if (mine !== generation) return;
    remember(controllers, new Date(manager.now));
    Object.assign(view, { manager, kinds, yaml, problem: '', answers: true, asksToken: false, at: new Date(manager.now) });
    if (object) view.detail = more; else view.listing = more;
  } catch (problem) {
    if (mine !== generation) return;
    if (problem instanceof Refused) view.asksToken = true;
    else view.problem = problem instanceof Answered ? problem.message : unanswered(problem);
    view.answers = problem instanceof Answered;
  }
  show();
  if (!view.paused && !document.hidden && !view.asksToken) timer = setTimeout(look, EVERY);
}

// A browser does not tell why it has no answer.
const unanswered = (problem) => (problem.name === 'TimeoutError' ? 'no answer came within 10 s'
  : 'it has been stopped, or the way to it (such as kubectl port-forward) has ended');

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

function Top() {
  const { manager } = view;
  const name = view.controllers.map((each) => each.name).filter((each, at, all) => all.indexOf(each) === at);
  return h('header', null, h('div', { class: 'wrap' },
    h('h1', null, h('a', { href: '#/' }, title(name))),
    manager && h('p', null, leadership(manager)),
    h('p', { class: 'push', role: 'status' }, freshness()),
    h('button', { type: 'button', 'aria-pressed': String(view.paused), onClick: pause }, 'Pause')));
}

function title(names) {
  if (view.manager && view.manager.cluster) return 'embedded cluster';
  return names.length && names.length < 4 ? names.join(', ') : 'setpoint';
}

function leadership({ cluster, election, sharding }) {
  if (cluster) return 'its objects and its control plane';
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
  const name = manager && manager.cluster ? 'cluster' : 'operator';
  if (view.problem) {
    const old = view.at ? ` What is below is from ${clock(view.at)}.` : '';
    lines.unshift(view.answers ? `The ${name} answers: ${view.problem}`
      : `The ${name} does not answer: ${view.problem}.${old} This page asks again every 2 s.`);
  }
  return h('div', { role: 'alert' }, lines.map((line) => h('p', { class: 'trouble', key: line }, line)));
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
  const cluster = Boolean(view.manager && view.manager.cluster);
  const [meaning, states] = cluster ? [STANDING, Object.keys(STANDING)] : [MEANING, STATES];
  const several = cluster || view.controllers.length > 1;
  const chip = (state, text) => h('button', {
    type: 'button', key: state, 'aria-pressed': String(view.state === state), title: meaning[state],
    onClick: () => { view.state = state; look(); },
  }, text);
  const objects = listing ? listing.objects : [];
  const rows = cluster ? clusterRows({ objects, stored, now }) : objects.map((each) => h('tr', { key: `${each.controller} ${each.key}` },
    h('td', null, h(State, { state: each.state })),
    h('th', { scope: 'row' }, h('a', { href: link(each.controller, each.key) }, each.key),
      h('div', { class: 'soft' }, several ? `${each.kind}, ${each.controller}` : each.kind)),
    h('td', { class: 'text' }, each.text),
    h('td', { class: 'number', ...(each.until && { 'data-head': 'next try' }) }, h(When, { at: each.until, now })),
    h('td', { class: 'number', ...(each.failures && { 'data-head': 'failures in a row' }) }, each.failures || '')));
  const heads = ['state', 'object', 'why', ...(cluster ? ['since'] : ['#next try', '#failures in a row'])];
  return h('section', { 'aria-labelledby': 'objects' },
    h('h2', { id: 'objects' }, 'Objects ', h('span', { class: 'soft' }, cluster ? 'a row for each problem, the worst first' : 'those that need attention first')),
    h('div', { class: 'filters', role: 'search' }, h('label', { for: 'find' }, cluster ? 'Find by kind, namespace or name' : 'Find by namespace or name'),
      h('input', {
        id: 'find', type: 'search', value: view.find, autocomplete: 'off', spellcheck: false,
        onInput: (event) => { view.find = event.target.value; look(); }, onKeyDown: openFound,
      })),
    h('div', { class: 'chips', role: 'group', 'aria-label': 'Show only one state' },
      chip('', `all ${all.toLocaleString('en')}`),
      states.filter((state) => counts[state] || view.state === state).map((state) =>
        chip(state, `${state} ${(counts[state] || 0).toLocaleString('en')}`)),
      cluster && view.controller && h('button', {
        type: 'button', key: 'of', 'aria-pressed': 'true', onClick: () => { view.controller = ''; if (chosenKind()) location.hash = '#/'; else look(); },
      }, `only ${view.controller}`),
      several && !cluster && view.controllers.filter((each, at, list) => list.findIndex((one) => one.name === each.name) === at)
        .map(({ name }) => h('button', {
          type: 'button', key: `of ${name}`, 'aria-pressed': String(view.controller === name),
          onClick: () => { view.controller = view.controller === name ? '' : name; look(); },
        }, `of ${name}`))),
    h(Table, { caption: 'Objects, their states and the reasons', cards: true, heads, rows, empty: listing ? 'no object matches' : 'asking' }),
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
      h('p', null, told.text, told.until && ` (at ${moment(told.until)})`),
      h('p', null, `${told.state} means: ${MEANING[told.state]}`)),
    told.caches.map((line) => h('p', { class: 'trouble', key: line }, line)),
    h('h3', null, 'Owners and owned objects ', h('span', { class: 'soft' }, 'in the caches of this process')),
    h(Owners, { self: { kind: told.kind, key: told.key, state: told.state }, owners: detail.owners, owned: detail.owned, more: detail.moreOwned, href: (node) => pageOf(node, told.controller) }),
    h('h3', null, 'Timeline'),
    h(Timeline, { key: `${told.controller} ${told.key}`, now: told.now, marks: [...attemptMarks(told.timeline, attemptId), ...eventMarks(detail.events, eventId)] }),
    h('h3', null, 'Conditions'), h(Conditions, { conditions: detail.conditions, now: told.now }),
    h('h3', null, 'Last reconciles'),
    told.resourceVersion && h('p', { class: 'soft' }, `seen at ${generation_}version ${told.resourceVersion}`),
    told.pending.length > 0 && h('p', null, `pending: ${told.pending.join(', ')}`),
    h(Attempts, { told }),
    h('h3', null, 'Events of the last minutes'),
    h(Events, {
      events: detail.events, now: told.now, caption: 'Events that this process has reported', empty: 'this process has reported none',
    }),
    h(Content));
}

// The object as YAML: asked for only when a person wants to see it.
function Content() {
  const { yaml, wantsYaml } = view;
  const turn = () => { Object.assign(view, { wantsYaml: !wantsYaml, yaml: null }); show(); look(); };
  const found = () => {
    if (!yaml) return !view.problem && h('p', null, 'asking');
    if (yaml.asksToken) return h(TokenForm, { needs: 'Its user must be allowed to get this object. ' });
    if (yaml.problem) return h('p', { class: 'trouble' }, yaml.problem);
    return h(Yaml, { told: yaml });
  };
  return [h('h3', { id: 'yaml' }, 'As YAML'),
    h('button', { type: 'button', 'aria-expanded': String(wantsYaml), onClick: turn }, wantsYaml ? 'Hide the YAML' : 'Show as YAML'),
    wantsYaml && found()];
}

// The page of an object in the picture, if a controller of this process has objects of its kind: this one, or the only other.
function pageOf(node, controller) {
  const names = [...new Set(view.controllers.filter(({ resource }) => node.resource && resource === node.resource).map(({ name }) => name))];
  if (names.includes(controller)) return link(controller, node.key);
  return names.length === 1 ? link(names[0], node.key) : '';
}

// -- the whole -------------------------------------------------------------------------------------------------------

const Token = () => [h('h2', null, 'A token is required'), h(TokenForm, { needs: 'Its user must be allowed to get /debug/*. ' })];

function TokenForm({ needs }) {
  const send = (event) => { event.preventDefault(); view.token = event.target.elements.token.value.trim(); look(); };
  return h('form', { onSubmit: send },
    h('p', null, needs, h('code', null, 'kubectl create token ACCOUNT'), ' makes one.'),
    h('div', { class: 'filters' }, h('label', { for: 'token' }, 'Bearer token; it is forgotten when this page is closed'),
      h('input', { id: 'token', name: 'token', type: 'password', autocomplete: 'off', required: true }), h('button', null, 'Look')));
}

function Page() {
  const object = chosen();
  const cluster = view.manager && view.manager.cluster;
  let body = [h(Token)];
  if (!view.asksToken && object && object.kind) body = [h(Troubles), h(Stored, { object, view, link, stored })];
  else if (!view.asksToken && object) body = [h(Troubles), h(Detail, { object })];
  else if (!view.asksToken) {
    body = [h(Troubles), h(Objects), cluster && h(Kinds, { view, choose }), h(Controllers), h(Caches), h(Leases)];
  }
  return [
    h('a', { class: 'skip', href: '#main', onClick: (event) => { event.preventDefault(); document.getElementById('main').focus(); } },
      'Skip to the objects'),
    h(Top), h('main', { class: 'wrap', id: 'main', tabIndex: -1 }, body,
      h('footer', null, h('kbd', null, '/'), ' finds an object, ', h('kbd', null, 'Esc'), ' goes back, ', h('kbd', null, 'p'),
        ' pauses. ', view.manager && `setpoint ${view.manager.version}, ${view.manager.instance}`)),
  ];
}

function choose(kind) {
  Object.assign(view, { controller: kind, state: '', find: '' });
  document.getElementById('find').focus();
  look();
}

function back(target) {
  if (target.id === 'find') target.blur();
  else if (trail.length > 1 && (chosen() || chosenKind())) history.back();
  else if (chosen() || chosenKind()) location.hash = '#/';
  else if (view.controller) { view.controller = ''; look(); }
}

// Enter in the search opens the only object that is found.
function openFound(event) {
  const { objects } = view.listing || { objects: [] };
  if (event.key !== 'Enter' || objects.length !== 1) return;
  const [{ controller, key }] = objects;
  location.hash = view.manager.cluster ? stored(controller, key) : link(controller, key);
}

function show() {
  const object = chosen();
  document.title = object ? `${object.key} – setpoint` : 'setpoint';
  render(h(Page), document.getElementById('page'));
}

// The addresses that were visited here, up to this one: Esc goes back among them, and to the list from the first.
const trail = [location.hash];

addEventListener('hashchange', () => {
  if (trail.at(-2) === location.hash) trail.pop(); else trail.push(location.hash);
  Object.assign(view, { detail: null, wantsYaml: false, yaml: null });
  if (chosenKind()) Object.assign(view, { listing: null, controller: chosenKind(), state: '', find: '' });
  show();
  (document.getElementById('object') || document.getElementById('main')).focus();
  look();
});
document.addEventListener('visibilitychange', () => { if (!document.hidden && !view.paused) look(); });
document.addEventListener('keydown', (event) => {
  const types = event.target.tagName === 'INPUT';
  if (event.key === 'Escape') back(event.target);
  if (types || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/' && document.getElementById('find')) { event.preventDefault(); document.getElementById('find').focus(); }
  if (event.key === 'p') pause();
});
view.controller = chosenKind();
show();
look();
