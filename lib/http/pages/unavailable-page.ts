/**
 * The page shown in place of those that need the database while it is unavailable. A static document, because a Next
 * page cannot set status 503. `nonce` is the one of the Content-Security-Policy.
 */
export function unavailablePage(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Unavailable – Homeport</title>
<style nonce="${nonce}">body { font: 1rem/1.55 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1rem }</style>
<main>
<h1>Temporarily unavailable</h1>
<p>Your account is temporarily unavailable. No data is lost. Try again in a minute.</p>
<p><a href="/download">Downloads</a> still work.</p>
</main>
</html>
`;
}
