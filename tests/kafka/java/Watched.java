import java.util.Arrays;

/** Runs another class's main until standard input ends: nothing that a test starts outlives the test, however it ends. */
public final class Watched {
    private static final long TIME_TO_CLOSE_MS = 30_000;

    public static void main(final String[] args) throws Exception {
        final Thread watch = new Thread(Watched::exitWhenInputEnds, "watch");
        watch.setDaemon(true);
        watch.start();
        Class.forName(args[0]).getMethod("main", String[].class)
            .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
    }

    private static void exitWhenInputEnds() {
        try {
            while (System.in.read() >= 0) { }
        } catch (final java.io.IOException e) {
            // the same as its end
        }
        final Thread closing = new Thread(() -> System.exit(0), "closing");
        closing.start();
        try {
            closing.join(TIME_TO_CLOSE_MS);
        } catch (final InterruptedException e) {
            // halt at once
        }
        Runtime.getRuntime().halt(1);
    }
}
