// Follows public events in a page of the server itself: the browser reconnects, and goes on behind the last event.
//
//   const stop = followEvents(["job.failed", "job.succeeded"], (event) => show(event.subject, event.type));
//
// An event is a CloudEvent. One that was not acknowledged by the network comes again: `known` has those of this page.
// Other sites may not ask: where the page is elsewhere, let its own server read `GET /v1/events`, with a token.

function followEvents(types, receive, { after = "end", namespace = "" } = {}) {
  const query = new URLSearchParams(types.map((type) => ["type", type]));
  query.set("after", after);
  if (namespace) query.set("namespace", namespace);
  const known = new Set();
  const source = new EventSource(`/v1/events?${query}`);
  for (const type of types) {
    source.addEventListener(`dev.jobledger.${type}.v1`, ({ data }) => {
      const event = JSON.parse(data);
      const name = `${event.source} ${event.id}`;
      if (known.has(name)) return;
      known.add(name);
      receive(event);
    });
  }
  return () => source.close();
}
