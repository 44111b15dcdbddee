import { DocsFrame, GroupTiles } from "../frame/docs-frame";
import { findGroup, GROUPS } from "./groups";
import { OperationCard } from "./operation";

/** The page of a group: links to the parts of its subject, and its operations. */
export function GroupPage({ slug }: { slug: string }) {
  const group = findGroup(slug);
  const parts = GROUPS.filter((one) => one.slug.startsWith(`${slug}/`));
  return (
    <DocsFrame current={slug}>
      <h1>{group?.title}</h1>
      <p className="lead">{group?.intro}</p>
      {parts.length > 0 && <GroupTiles groups={parts} />}
      {group?.operations.map((operation) => (
        <OperationCard key={operation.operationId} operation={operation} />
      ))}
    </DocsFrame>
  );
}
