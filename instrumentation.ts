/** Next calls this once a process. Under server.ts the context is there already. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { hasContext, setContext } = await import("./lib/context");
  if (hasContext()) return;
  const [{ composeContext }, { loadConfig }, { startBackground }] = await Promise.all([
    import("./lib/compose"),
    import("./lib/config"),
    import("./lib/background"),
  ]);
  const context = await composeContext(loadConfig());
  setContext(context);
  startBackground(context);
}
