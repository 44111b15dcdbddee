import type { Config } from "@/lib/platform/config";

/** The company's logo, or Homeport's. The name beside it says what it is. */
export function Logo({ config }: { config: Pick<Config, "BRAND_LOGO" | "BRAND_LOGO_DARK"> }) {
  if (config.BRAND_LOGO) {
    return (
      <picture>
        {config.BRAND_LOGO_DARK && <source srcSet="/brand/logo?theme=dark" media="(prefers-color-scheme: dark)" />}
        <img className="logo" src="/brand/logo" alt="" />
      </picture>
    );
  }
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <path d="M6 9v7a10 10 0 0 0 20 0V9" fill="none" stroke="currentColor" strokeWidth="3.5" strokeLinecap="round" />
      <circle cx="16" cy="13" r="3.5" fill="currentColor" />
    </svg>
  );
}
