import { Fields } from "../fields/schema";
import { DocsFrame } from "../frame/docs-frame";
import {
  api,
  type Parameter,
  type ResponseObject,
  resolve,
  type Schema,
  type WebhookObject,
} from "../reference/document";
import { Heading } from "../reference/heading";
import { MarkdownText } from "../reference/markdown";
import { Parameters } from "../reference/operation";

export const metadata = { title: "Webhook events" };
export const isStatic = true;

const VERIFY = `import { verifyWebhook } from "@homeport/client";

const event = await verifyWebhook({ headers, body }, secret); // the body as it was received
`;
/** The statuses of the receiver's response, in this order, and what the page calls them. */
const STATUSES = [
  ["2XX", "200 to 299"],
  ["410", "410"],
  ["default", "any other"],
] as const;

/** What the service sends to webhook endpoints. All events have the same headers and responses. */
export default function Page() {
  const events = Object.entries(api.webhooks);
  const [, { post: shared }] = events[0] as (typeof events)[number];
  return (
    <DocsFrame current="webhooks">
      <h1>Webhook events</h1>
      <p className="lead">
        What the service sends to <a href="/docs/operators/webhooks">your endpoints</a>: POST requests, signed by
        Standard Webhooks.
      </p>
      <section className="card operation" aria-labelledby="deliveries">
        <Heading level={2} id="deliveries" name="Every delivery">
          Every delivery
        </Heading>
        <p>
          <MarkdownText>{shared.description}</MarkdownText>
        </p>
        <pre>{VERIFY}</pre>
        <Parameters
          title="Request headers"
          parameters={(shared.parameters ?? []).map((one) => resolve<Parameter>(one))}
        />
        <h3>Your response</h3>
        <dl className="fields">
          {STATUSES.map(([status, label]) => (
            <div key={status}>
              <dt>{label}</dt>
              <dd>
                <MarkdownText>{(shared.responses[status] as ResponseObject).description}</MarkdownText>
              </dd>
            </div>
          ))}
        </dl>
      </section>
      {events.map(([type, { post }]) => (
        <EventCard key={type} type={type} post={post} />
      ))}
    </DocsFrame>
  );
}

function EventCard({ type, post: { operationId, summary, requestBody } }: { type: string; post: WebhookObject }) {
  const { schema = {}, examples = {} } = requestBody?.content["application/json"] ?? {};
  return (
    <section className="card operation" id={operationId} aria-labelledby={`${operationId}-title`}>
      <Heading level={2} id={`${operationId}-title`} name={type}>
        {type}
      </Heading>
      <p>{summary}.</p>
      <Fields schema={resolve<Schema>(schema)} />
      {Object.values(examples).map((example) => (
        <pre key={example.summary}>{JSON.stringify(example.value, null, 2)}</pre>
      ))}
    </section>
  );
}
