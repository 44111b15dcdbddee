type Tab = { href: string; label: string; isCurrent: boolean; count?: string };

/** Links between the parts of one subject. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ href, label, isCurrent, count }) => (
        <a key={href} href={href} aria-current={isCurrent ? "page" : undefined}>
          {label}
          {count !== undefined && <span className="count">{count}</span>}
        </a>
      ))}
    </nav>
  );
}
