import { type ReactNode, useId } from "react";

type PageHeadProps = {
  title: ReactNode;
  /** The page above, such as the list that the subject is in. */
  parent?: { href: string; label: string };
  /** Beside the title, such as a badge. */
  aside?: ReactNode;
  /** A sentence below the title. */
  lead?: ReactNode;
  /** Buttons for what can be done with the subject of the page. */
  actions?: ReactNode;
};

export function PageHead({ title, parent, aside, lead, actions }: PageHeadProps) {
  return (
    <div className="page-head">
      <div>
        {parent && (
          <p className="parent">
            <a href={parent.href}>{parent.label}</a>
          </p>
        )}
        <h1>
          <bdi>{title}</bdi> {aside}
        </h1>
        {lead && <p className="lead">{lead}</p>}
      </div>
      {actions && <div className="buttons">{actions}</div>}
    </div>
  );
}

type SectionProps = { title: string; lead?: ReactNode; actions?: ReactNode; children?: ReactNode };

/** A part of a page, with its own heading. */
export function Section({ title, lead, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {actions && <div className="buttons">{actions}</div>}
      </div>
      {lead && <p className="muted">{lead}</p>}
      {children}
    </section>
  );
}
