import type { Group } from "../reference/groups";

/** Links to the pages of groups. */
export function GroupTiles({ groups }: { groups: readonly Group[] }) {
  return (
    <ul className="tiles">
      {groups.map(({ slug, title, intro }) => (
        <li key={slug}>
          <a href={`/docs/${slug}`}>{title}</a>
          <p>{intro}</p>
        </li>
      ))}
    </ul>
  );
}
