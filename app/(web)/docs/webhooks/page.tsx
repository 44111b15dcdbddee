import { DocsFrame } from "../frame/docs-frame";
import { api, type Parameter, type ResponseObject, resolve } from "../reference/document";
import { Heading } from "../reference/heading";
import { MarkdownText } from "../reference/markdown";
import { Body, Parameters, ResponseDetails } from "../reference/operation";

export const metadata = { title: "Webhooks" };
export const isStatic = true;

const VERIFY = `import { verifyWebhook } from "@homeport/client";

const event = await verifyWebhook({ headers, body }, secret); // the body as it was received
`;

/** What the service sends to webhook endpoints. All events have the same headers and responses. */
export default function Page() {
  const [first, ...others] = Object.entries(api.webhooks);
  if (!first) return null;
  const { description, parameters = [], responses } = first[1].post;
  return (
    <DocsFrame current="webhooks">
      <h1>Webhooks</h1>
      <p className="lead">
        What the service sends to <a href="/docs/operators/webhooks">your endpoints</a>: POST requests, signed by
        Standard Webhooks.
      </p>
      <section className="card operation" aria-labelledby="deliveries">
        <Heading level={2} id="deliveries" name="Every delivery">
          Every delivery
        </Heading>
        <p>
          <MarkdownText>{description}</MarkdownText>
        </p>
        <pre>{VERIFY}</pre>
        <Parameters title="Request headers" parameters={parameters.map((one) => resolve<Parameter>(one))} />
        <h3>Your response</h3>
        {Object.entries(responses).map(([status, response]) => (
          <ResponseDetails key={status} status={status} {...resolve<ResponseObject>(response)} />
        ))}
      </section>
      {[first, ...others].map(([type, { post }]) => (
        <section
          key={type}
          className="card operation"
          id={post.operationId}
          aria-labelledby={`${post.operationId}-title`}
        >
          <Heading level={2} id={`${post.operationId}-title`} name={type}>
            {type}
          </Heading>
          <p>{post.summary}.</p>
          <Body content={post.requestBody?.content ?? {}} isExpanded />
        </section>
      ))}
    </DocsFrame>
  );
}
