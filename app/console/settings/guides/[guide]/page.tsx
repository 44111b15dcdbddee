import Markdown from "markdown-to-jsx/react";
import { Children, type ReactNode } from "react";
import { AppError } from "@/lib/errors";
import { guideLink, readGuide } from "@/lib/platform/guides";
import { consolePage, titleOf } from "../../../frame/console-page";

export const generateMetadata = titleOf("Guides", async ({ params }) => {
  const guide = await readGuide(params.guide ?? "");
  return /^# (.+)$/m.exec(guide?.markdown ?? "")?.[1] ?? "Guide";
});

export default consolePage({}, async ({ params }) => {
  const guide = await readGuide(params.guide ?? "");
  if (guide === null) throw new AppError("not_found");
  return (
    <>
      <p className="parent">
        <a href="/console/settings">Configuration</a>
      </p>
      <article className="guide">
        <Guide {...guide} />
      </article>
    </>
  );
});

function Guide({ file, markdown }: { file: string; markdown: string }) {
  const Link = ({ href = "", children }: { href?: string; children?: ReactNode }) => {
    const to = guideLink(file, href);
    return to === null ? children : <a href={to}>{children}</a>;
  };
  const overrides = {
    a: { component: Link },
    img: { component: () => null },
    pre: { component: Code },
    th: { component: Head },
  };
  return <Markdown options={{ disableParsingRawHTML: true, forceBlock: true, overrides }}>{markdown}</Markdown>;
}

/** The corner of a table has no text: it is no header. */
function Head({ children }: { children?: ReactNode }) {
  return Children.count(children) === 0 ? <td /> : <th scope="col">{children}</th>;
}

/** A keyboard scrolls a region that has the focus. */
function Code({ children }: { children?: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
    <pre tabIndex={0}>{children}</pre>
  );
}
