import {
  api,
  type Content,
  errorCodesOf,
  type Operation,
  type Parameter,
  type ResponseObject,
  resolve,
  type Schema,
} from "./document";
import { MarkdownText } from "./markdown";
import { FieldList, Fields, Type } from "./schema";

/** One operation with its parameters, body and responses. */
export function OperationCard({ operation }: { operation: Operation }) {
  const { operationId, method, path, summary, description, requestBody, deprecated, security } = operation;
  const parameters = (operation.parameters ?? []).map((parameter) => resolve<Parameter>(parameter));
  const responses = Object.entries(operation.responses).map(([status, response]) => ({
    status,
    ...resolve<ResponseObject>(response),
  }));
  return (
    <section className="card operation" id={operationId} aria-labelledby={`${operationId}-title`}>
      <h3 id={`${operationId}-title`}>
        <span className="method">{method}</span> <code>{path}</code>
      </h3>
      <p>
        <strong>{summary}.</strong> <MarkdownText>{description}</MarkdownText>{" "}
        {deprecated && <span className="tag">retired</span>}
      </p>
      {security.length > 0 && <Authentication security={security} />}
      {parameters.length > 0 && (
        <>
          <h4>Parameters</h4>
          <FieldList
            fields={parameters.map((parameter) => ({ ...parameter, required: parameter.required ?? false }))}
          />
        </>
      )}
      {requestBody && (
        <>
          <h4>Body</h4>
          <Body content={requestBody.content} isExpanded />
        </>
      )}
      <h4>Responses</h4>
      {responses.filter(hasOwnBody).map((response) => (
        <ResponseDetails key={response.status} {...response} />
      ))}
      <ErrorCodes responses={responses} />
    </section>
  );
}

/** Whether a response is more than a problem document; those are listed by their codes. */
const hasOwnBody = (response: ResponseObject) =>
  errorCodesOf(response).length === 0 || Object.keys(response.content ?? {}).length > 1;

function Authentication({ security }: Pick<Operation, "security">) {
  const names = [...new Set(security.flatMap((requirement) => Object.keys(requirement)))];
  const isOptional = security.some((requirement) => Object.keys(requirement).length === 0);
  return (
    <p className="aside">
      {isOptional ? "Optional authentication: " : "Authentication: "}
      {names.map((name, i) => (
        <span key={name} title={api.components.securitySchemes[name]?.description}>
          {i > 0 && (i === names.length - 1 ? " or " : ", ")}
          <a href={`#auth-${name}`}>{name}</a>
        </span>
      ))}
      .
    </p>
  );
}

function ResponseDetails({ status, description, headers = {}, content }: ResponseObject & { status: string }) {
  const names = Object.keys(headers).filter((name) => !COMMON_HEADERS.includes(name));
  return (
    <details>
      <summary>
        <code>{status}</code> <MarkdownText>{description}</MarkdownText>
      </summary>
      {names.length > 0 && (
        <p className="aside">
          Headers: <MarkdownText>{names.map((name) => `\`${name}\``).join(", ")}</MarkdownText>
        </p>
      )}
      {content && <Body content={content} />}
    </details>
  );
}

/** Headers of every response. */
const COMMON_HEADERS = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"];

function Body({ content, isExpanded = false }: { content: Content; isExpanded?: boolean }) {
  return bodiesOf(content).map(({ mediaTypes, schema, examples = {} }) => (
    <div key={mediaTypes.join()}>
      <p className="aside">
        <MarkdownText>{mediaTypes.map((mediaType) => `\`${mediaType}\``).join(" or ")}</MarkdownText>
        {schema && (
          <>
            : <Type schema={schema} />
          </>
        )}
      </p>
      {schema && <Fields schema={isExpanded ? resolve<Schema>(schema) : schema} />}
      {Object.entries(examples).map(([name, { summary, value }]) => (
        <details key={name} open={!isExpanded}>
          <summary>{summary}</summary>
          <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
        </details>
      ))}
    </div>
  ));
}

/** The bodies of a response. Media types with the same schema and examples are merged. */
function bodiesOf(content: Content) {
  const own = Object.entries(content).filter(([mediaType]) => mediaType !== "application/problem+json");
  const distinct = new Map(own.map(([, body]) => [JSON.stringify(body), body]));
  return [...distinct].map(([text, body]) => ({
    ...body,
    mediaTypes: own.filter(([, other]) => JSON.stringify(other) === text).map(([mediaType]) => mediaType),
  }));
}

function ErrorCodes({ responses }: { responses: (ResponseObject & { status: string })[] }) {
  return (
    <ul className="error-codes" aria-label="Errors">
      {responses.flatMap((response) =>
        errorCodesOf(response).map((code) => (
          <li key={code}>
            {response.status}{" "}
            <a href={`/docs/errors#${code}`}>
              <code>{code}</code>
            </a>
          </li>
        )),
      )}
    </ul>
  );
}
