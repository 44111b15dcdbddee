import { ERRORS, type ErrorCode } from "@/lib/errors";
import { DocsFrame } from "../frame/docs-frame";
import { ERROR_DESCRIPTIONS } from "./descriptions";

export const metadata = { title: "Error reference" };
export const isStatic = true;

const CODES = (Object.keys(ERRORS) as ErrorCode[]).map((code) => ({
  code,
  status: ERRORS[code][0],
  title: ERRORS[code][1],
}));

export default function Page() {
  return (
    <DocsFrame current="errors">
      <h1>Error reference</h1>
      <p className="lead">
        Every error of the API is a problem document (<a href="https://www.rfc-editor.org/rfc/rfc9457">RFC 9457</a>).
        Handle errors by their <code>code</code>. Show users the <code>title</code>, and the <code>detail</code> if
        there is one. Include the <code>requestId</code> when you contact support.
      </p>
      <dl className="errors">
        {CODES.map(({ code, status, title }) => (
          <div key={code} id={code} className="error-code">
            <dt>
              <a href={`#${code}`}>
                <code>{code}</code>
              </a>
              <span className="tag">{status}</span>
            </dt>
            <dd>
              <strong>{title}.</strong> <Description text={ERROR_DESCRIPTIONS[code]} />
            </dd>
          </div>
        ))}
      </dl>
    </DocsFrame>
  );
}

/** Plain text with code between backticks. */
function Description({ text }: { text: string }) {
  return text.split("`").map((part, i) => (i % 2 === 0 ? part : <code key={part}>{part}</code>));
}
