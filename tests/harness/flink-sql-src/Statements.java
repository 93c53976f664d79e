import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.calcite.avatica.util.Casing;
import org.apache.calcite.avatica.util.Quoting;
import org.apache.calcite.sql.SqlNode;
import org.apache.calcite.sql.parser.SqlParseException;
import org.apache.calcite.sql.parser.SqlParser;
import org.apache.flink.sql.parser.impl.FlinkSqlParserImpl;
import org.apache.flink.sql.parser.validate.FlinkSqlConformance;

/**
 * Prints the class of each statement in a file of Flink SQL; exit code 1 and the parser's words if there is a mistake.
 *
 * The parser is set up as Flink's table planner does it.
 */
public final class Statements {
    private static final int LONGEST_NAME = 256;

    private Statements() {
    }

    public static void main(String[] arguments) throws Exception {
        SqlParser.Config config = SqlParser.config()
            .withParserFactory(FlinkSqlParserImpl.FACTORY)
            .withConformance(FlinkSqlConformance.DEFAULT)
            .withQuoting(Quoting.BACK_TICK)
            .withUnquotedCasing(Casing.UNCHANGED)
            .withIdentifierMaxLength(LONGEST_NAME);
        String text = Files.readString(Path.of(arguments[0]));
        try {
            for (SqlNode statement : SqlParser.create(text, config).parseStmtList()) {
                System.out.println(statement.getClass().getSimpleName());
            }
        } catch (SqlParseException mistake) {
            System.err.println(mistake.getMessage());
            System.exit(1);
        }
    }
}
