import Markdown from "markdown-to-jsx/react";
import type { ReactNode } from "react";

/** A release's notes. HTML in them is text, pictures from elsewhere are left out, and headings stay below ours. */
export function Notes({ markdown }: { markdown: string }) {
  return (
    <Markdown options={{ disableParsingRawHTML: true, forceBlock: true, wrapper: "div", overrides: OVERRIDES }}>
      {markdown}
    </Markdown>
  );
}

function Heading({ children }: { children?: ReactNode }) {
  return <h5>{children}</h5>;
}

function Link({ href, children }: { href?: string; children?: ReactNode }) {
  const isWeb = /^https?:\/\//.test(href ?? "");
  return isWeb ? (
    <a href={href} rel="nofollow noopener noreferrer">
      {children}
    </a>
  ) : (
    children
  );
}

function Picture({ alt }: { alt?: string }) {
  return alt ?? null;
}

const OVERRIDES = {
  ...Object.fromEntries(["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, { component: Heading }])),
  a: { component: Link },
  img: { component: Picture },
};
