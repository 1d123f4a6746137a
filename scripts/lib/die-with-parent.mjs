/**
 * Preloaded into every supervised program: when the supervisor is killed, its channel closes and the program ends itself.
 * Without this a kill -9 of `npm start` would leave programs behind that hold the ports.
 */
if (process.channel) {
  process.once('disconnect', () => {
    // A program that hangs while it ends gives the ports back all the same.
    setTimeout(() => process.exit(1), 8_000).unref();
    process.kill(process.pid, 'SIGTERM');
  });
  process.channel.unref();
}
