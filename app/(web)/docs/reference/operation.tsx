import {
  type Answer,
  api,
  type Content,
  codesOf,
  type Operation,
  type Parameter,
  resolve,
  type Schema,
} from "./document";
import { MemberList, Members, Type } from "./schema";
import { Text } from "./text";

/** One operation: what it takes, and all that it may answer. */
export function OperationCard({ operation }: { operation: Operation }) {
  const { operationId, method, path, summary, description, requestBody, deprecated, security } = operation;
  const parameters = (operation.parameters ?? []).map((one) => resolve<Parameter>(one));
  const answers = Object.entries(operation.responses).map(([status, one]) => ({ status, ...resolve<Answer>(one) }));
  return (
    <section className="card operation" id={operationId} aria-labelledby={`${operationId}-title`}>
      <h3 id={`${operationId}-title`}>
        <span className="method">{method}</span> <code>{path}</code>
      </h3>
      <p>
        <strong>{summary}.</strong> <Text>{description}</Text> {deprecated && <span className="tag">retired</span>}
      </p>
      {security.length > 0 && <Proofs security={security} />}
      {parameters.length > 0 && (
        <>
          <h4>Parameters</h4>
          <MemberList members={parameters.map((one) => ({ ...one, required: one.required ?? false }))} />
        </>
      )}
      {requestBody && (
        <>
          <h4>Body</h4>
          <Body content={requestBody.content} unfold />
        </>
      )}
      <h4>Answers</h4>
      {answers.filter(isOwn).map((answer) => (
        <Told key={answer.status} {...answer} />
      ))}
      <Errors answers={answers} />
    </section>
  );
}

const isOwn = (answer: Answer) => codesOf(answer).length === 0 || Object.keys(answer.content ?? {}).length > 1;

function Proofs({ security }: Pick<Operation, "security">) {
  const names = [...new Set(security.flatMap((one) => Object.keys(one)))];
  const optional = security.some((one) => Object.keys(one).length === 0);
  return (
    <p className="aside">
      {optional ? "May prove itself by " : "Proves itself by "}
      {names.map((name, i) => (
        <span key={name} title={api.components.securitySchemes[name]?.description}>
          {i > 0 && (i === names.length - 1 ? " or " : ", ")}
          <a href={`#proof-${name}`}>{name}</a>
        </span>
      ))}
      .
    </p>
  );
}

function Told({ status, description, headers = {}, content }: Answer & { status: string }) {
  const own = Object.keys(headers).filter((name) => !EVERYWHERE.includes(name));
  return (
    <details>
      <summary>
        <code>{status}</code> <Text>{description}</Text>
      </summary>
      {own.length > 0 && (
        <p className="aside">
          Headers: <Text>{own.map((name) => `\`${name}\``).join(", ")}</Text>
        </p>
      )}
      {content && <Body content={content} />}
    </details>
  );
}

/** What every answer carries. */
const EVERYWHERE = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"];

function Body({ content, unfold = false }: { content: Content; unfold?: boolean }) {
  return bodiesOf(content).map(({ mediaTypes, schema, examples = {} }) => (
    <div key={mediaTypes.join()}>
      <p className="aside">
        <Text>{mediaTypes.map((mediaType) => `\`${mediaType}\``).join(" or ")}</Text>
        {schema && (
          <>
            : <Type schema={schema} />
          </>
        )}
      </p>
      {schema && <Members schema={unfold ? resolve<Schema>(schema) : schema} />}
      {Object.entries(examples).map(([name, { summary, value }]) => (
        <details key={name} open={!unfold}>
          <summary>{summary}</summary>
          <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
        </details>
      ))}
    </div>
  ));
}

/** A route's own bodies; media types that carry the same stand together. */
function bodiesOf(content: Content) {
  const own = Object.entries(content).filter(([mediaType]) => mediaType !== "application/problem+json");
  const distinct = new Map(own.map(([, body]) => [JSON.stringify(body), body]));
  return [...distinct].map(([text, body]) => ({
    ...body,
    mediaTypes: own.filter(([, other]) => JSON.stringify(other) === text).map(([mediaType]) => mediaType),
  }));
}

function Errors({ answers }: { answers: (Answer & { status: string })[] }) {
  return (
    <ul className="codes" aria-label="Errors">
      {answers.flatMap((answer) =>
        codesOf(answer).map((code) => (
          <li key={code}>
            {answer.status}{" "}
            <a href={`/docs/errors#${code}`}>
              <code>{code}</code>
            </a>
          </li>
        )),
      )}
    </ul>
  );
}
