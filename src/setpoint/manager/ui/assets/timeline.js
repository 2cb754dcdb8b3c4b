// The timeline of an object as a strip: reconciles, waits, writes and events from left to right, in lanes. The distances are
// compressed, so that the attempts of a second are as visible as the minutes between two attempts.
import { Component, h } from './preact.js';
import { clock, relative, seconds, tone } from './words.js';

const LANES = ['reconciles', 'waits', 'writes', 'events'];
const time = (text) => new Date(text).getTime() / 1000;

// The marks of reconciles: the attempts, the waits after them, and their writes. `by` names the controller, `target` returns
// the id of the element that tells more about an attempt.
export function attemptMarks(attempts, target, by = '') {
  const marks = [];
  attempts.forEach((attempt, at) => {
    const start = time(attempt.at);
    const end = start + attempt.seconds;
    const from = `${clock(attempt.at)}${by && ` by ${by}`}`;
    const result = attempt.result.replace('requeue_after', 'waiting');
    const detail = attempt.detail && `: ${attempt.detail}`;
    const common = { target: target(attempt) };
    marks.push({ ...common, lane: 'reconciles', start, tone: tone(result), text: `${from}: reconcile, ${result}${detail}, took ${seconds(attempt.seconds)}` });
    const next = attempts[at + 1] ? time(attempts[at + 1].at) : attempt.next && time(attempt.next);
    if (attempt.next && next > end) {
      const kind = result === 'waiting' ? 'wait' : 'back-off';
      marks.push({ ...common, lane: 'waits', start: end, end: next, tone: kind === 'wait' ? 'busy' : 'bad', text: `${from}: ${kind} of ${seconds(next - end)}${detail}` });
    }
    if (attempt.writes.length) {
      const writes = attempt.writes.map((write) => `${write.verb} ${write.kind} ${write.key}${write.effect ? ` (${write.effect})` : ''}`);
      if (attempt.moreWrites) writes.push(`${attempt.moreWrites} more`);
      marks.push({ ...common, lane: 'writes', start: end, tone: 'busy', text: `${from}: ${writes.join(', ')}` });
    }
  });
  return marks;
}

export const eventMarks = (events, target) => events.map((event) => ({
  lane: 'events', start: time(event.at), tone: tone(event.type === 'Normal' ? 'current' : event.type), target: target(event),
  text: `${clock(event.at)}: event ${event.reason}${event.count > 1 ? ` (${event.count} times)` : ''}: ${event.note}`,
}));

export class Timeline extends Component {
  // A new page shows the newest marks; a person who has scrolled stays there.
  componentDidMount() { if (this.region) this.region.scrollLeft = this.region.scrollWidth; }

  render({ marks, now }) {
    const merged = combined(marks);
    if (!merged.length) return h('p', { class: 'soft' }, 'No reconcile and no event is remembered.');
    const { columns, column, labels } = scale(merged, now);
    const current = merged.find((mark) => mark.id === this.state.current) || merged.at(-1);
    const move = (event) => {
      const to = { ArrowLeft: merged.indexOf(current) - 1, ArrowRight: merged.indexOf(current) + 1, Home: 0, End: merged.length - 1 }[event.key];
      if (to === undefined || !merged[to]) return;
      event.preventDefault();
      event.currentTarget.querySelectorAll('button')[to].focus();
    };
    const look = (mark) => this.setState({ current: mark.id, text: mark.text });
    const cell = (first, last, row) => ({ gridColumn: `${first + 2} / ${last + 2}`, gridRow: String(row) });
    return [h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Timeline', ref: (region) => { this.region = region; } },
      h('div', { class: 'strip', role: 'toolbar', 'aria-label': 'Marks of the timeline', style: { minWidth: `${Math.ceil(columns.length * 0.85) + 6}rem`, gridTemplateColumns: `max-content ${columns.map((weight) => `minmax(.85rem, ${weight}fr)`).join(' ')}` }, onKeyDown: move },
        LANES.map((lane, row) => h('span', { key: lane, class: 'lane', style: { gridRow: String(row + 1) } }, lane)),
        LANES.map((lane, row) => h('span', { key: `line of ${lane}`, class: 'rail', style: { gridColumn: '2 / -1', gridRow: String(row + 1) } })),
        h('span', { key: 'now', class: 'now', title: 'now', style: cell(column(time(now)), column(time(now)) + 1, '1 / 6') }),
        merged.map((mark) => {
          const first = column(mark.start);
          const last = mark.end ? Math.max(column(mark.end), first + 1) : first + 1;
          return h('button', {
            key: mark.id, type: 'button', class: `mark ${mark.lane} ${mark.tone}`, 'aria-label': mark.text, title: mark.text, tabIndex: mark === current ? 0 : -1,
            style: cell(first, last, LANES.indexOf(mark.lane) + 1), onFocus: () => look(mark), onMouseEnter: () => look(mark), onClick: () => reveal(mark.target),
          });
        }),
        labels.map(([at, text]) => h('span', { key: at, class: 'soft tick', style: cell(at, columns.length, LANES.length + 1) }, text)))),
    h('p', { class: 'soft told', 'aria-hidden': 'true' }, this.state.text || 'Point at a mark, or move along them with the arrow keys; a click leads to its row below.')];
  }
}

// The marks in the order of time; those of one lane and one moment are one mark.
function combined(marks) {
  const byPlace = new Map();
  for (const mark of [...marks].sort((one, other) => one.start - other.start || LANES.indexOf(one.lane) - LANES.indexOf(other.lane))) {
    const id = `${mark.lane} ${mark.start}`;
    const present = byPlace.get(id);
    const worst = present && [present.tone, mark.tone].sort((one, other) => TONES.indexOf(one) - TONES.indexOf(other))[0];
    byPlace.set(id, present ? { ...present, tone: worst, text: `${present.text}; ${mark.text}` } : { ...mark, id });
  }
  return [...byPlace.values()];
}

const TONES = ['bad', 'odd', 'busy', 'good'];

// A column for each moment, as wide as the logarithm of the time until the next one, and labels where there is room for them.
function scale(marks, now) {
  const moments = [...new Set([time(now), ...marks.flatMap((mark) => [mark.start, ...(mark.end ? [mark.end] : [])])])].sort((one, other) => one - other);
  const columns = moments.map((moment, at) => Number((0.8 + Math.log10(1 + 10 * ((moments[at + 1] ?? moment) - moment))).toFixed(2)));
  const places = columns.map((_, at) => columns.slice(0, at).reduce((sum, weight) => sum + weight, 0));
  const room = Math.max((places.at(-1) + columns.at(-1)) / 8, 4);
  const present = moments.indexOf(time(now));
  const labels = [[present, 'now']];
  let free = 0;
  moments.forEach((moment, at) => {
    const text = relative(new Date(moment * 1000), now);
    if (places[at] < free || Math.abs(places[at] - places[present]) < room || text === labels.at(-1)[1]) return;
    labels.push([at, text]);
    free = places[at] + room;
  });
  return { columns, column: (moment) => moments.indexOf(moment), labels };
}

// Shows the element with that id and gives it the focus, whatever it is folded in.
function reveal(id) {
  const element = document.getElementById(id);
  if (!element) return;
  for (let outer = element; outer; outer = outer.parentElement) if (outer.tagName === 'DETAILS') outer.open = true;
  element.tabIndex = -1;
  element.scrollIntoView({ block: 'center' });
  element.focus({ preventScroll: true });
}
