import type { ReactNode } from "react";

type Props = { level: 2 | 3; id: string; name: string; className?: string; children: ReactNode };

/** A heading with a link to itself. `name` is what the link is called. */
export function Heading({ level, id, name, className, children }: Props) {
  const Tag = `h${level}` as const;
  return (
    <div className={`linked-heading ${className ?? ""}`.trim()}>
      <Tag id={id}>{children}</Tag>
      <a className="anchor" href={`#${id}`} aria-label={`Link to ${name}`}>
        #
      </a>
    </div>
  );
}
