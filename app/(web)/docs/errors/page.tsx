import { ERRORS, type ErrorCode } from "@/lib/errors";
import { EXPLANATIONS } from "./explanations";

export const metadata = { title: "Error reference" };

const CODES = (Object.keys(ERRORS) as ErrorCode[]).map((code) => ({
  code,
  status: ERRORS[code][0],
  title: ERRORS[code][1],
}));

export default function Page() {
  return (
    <>
      <h1>Error reference</h1>
      <p className="lead">
        Every error of the API is a problem document (<a href="https://www.rfc-editor.org/rfc/rfc9457">RFC 9457</a>).
        Switch on its <code>code</code>; tell people the <code>title</code>, and the <code>detail</code> where there is
        one. Give us the <code>requestId</code> when you ask about an error.
      </p>
      <dl className="errors">
        {CODES.map(({ code, status, title }) => (
          <div key={code} id={code} className="code">
            <dt>
              <a href={`#${code}`}>
                <code>{code}</code>
              </a>
              <span className="tag">{status}</span>
            </dt>
            <dd>
              <strong>{title}.</strong> <Explanation text={EXPLANATIONS[code]} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** Plain text with names of headers, members and variables between backticks. */
function Explanation({ text }: { text: string }) {
  return text.split("`").map((part, i) => (i % 2 === 0 ? part : <code key={part}>{part}</code>));
}
