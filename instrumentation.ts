/** Next calls this once a process. Under server.ts the context is there already. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const [{ composeContext }, { loadConfig }, { hasContext, setContext }] = await Promise.all([
    import("./lib/compose"),
    import("./lib/config"),
    import("./lib/context"),
  ]);
  if (!hasContext()) setContext(await composeContext(loadConfig()));
}
